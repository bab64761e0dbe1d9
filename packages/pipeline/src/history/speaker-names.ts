// Marks the speakers in turns of several writers, so that no writer can pretend to be another.

import type { Part } from '@postern/message'

/** The writers of a turn must stay known when there are several. */
export function announceSpeaker(address: string): Part {
  return { kind: 'text', mime: 'text/plain', content: `${address}:` }
}

/** A line of a writer that looks as if another one began to speak there. */
const likeSpeaker = /^(?=[^\S\n\r\u2028\u2029]*@[^\s@]+@[^\s@]+:[^\S\n]*$)/gmu

/** No writer puts words into another's mouth by writing a name in the format used here. */
export function quoteNames(part: Part): Part {
  if (part.kind !== 'text') return part
  const content = part.content.replace(likeSpeaker, '> ')
  return content === part.content ? part : { ...part, content }
}
