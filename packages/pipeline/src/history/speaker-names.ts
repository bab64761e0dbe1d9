// Marks the speakers in turns of several writers, so that no writer can pretend to be another.

import type { Part } from '@postern/message'

/** Returns the line that names the next writer in a turn of several writers. */
export function announceSpeaker(address: string): Part {
  return { kind: 'text', mime: 'text/plain', content: `${address}:` }
}

/** Matches the beginning of a line that looks like the name line of a writer. */
const speakerLinePattern = /^(?=[^\S\n\r\u2028\u2029]*@[^\s@]+@[^\s@]+:[^\S\n]*$)/gmu

/** Quotes lines that look like the name line of a writer, so that nobody can attribute words to somebody else. */
export function quoteNames(part: Part): Part {
  if (part.kind !== 'text') return part
  const content = part.content.replace(speakerLinePattern, '> ')
  return content === part.content ? part : { ...part, content }
}
