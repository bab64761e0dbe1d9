// Marks the speakers in turns of several speakers, so that no speaker can pretend to be another.

import type { Part } from '@postern/message'

/** Returns the line that names the next speaker in a turn of several speakers. */
export function createSpeakerLine(address: string): Part {
  return { kind: 'text', mime: 'text/plain', content: `${address}:` }
}

/** Matches the beginning of a line that looks like a speaker line. */
const speakerLinePattern = /^(?=[^\S\n\r\u2028\u2029]*@[^\s@]+@[^\s@]+:[^\S\n]*$)/gmu

/** Quotes lines that look like a speaker line, so that nobody can attribute words to somebody else. */
export function quoteSpeakerLines(part: Part): Part {
  if (part.kind !== 'text') return part
  const content = part.content.replace(speakerLinePattern, '> ')
  return content === part.content ? part : { ...part, content }
}
