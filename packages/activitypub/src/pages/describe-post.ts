import { decodeEntities } from '@postern/core'

/** UTF-16 code units that previews show. */
const maxDescription = 280
/** UTF-16 code units of HTML in which they are looked for. */
const maxRead = 4_000
const inline = /^<\/?(?:a|span|strong|b|em|i|u|del|s|code)\b/

/** A post in one line of plain text, without the addresses of its links. `words`: sanitized HTML. */
export function describePost({
  words,
  warning,
}: {
  readonly words: string
  readonly warning?: string | undefined
}): string {
  const text = warning ?? readLine(beginningOf(words))
  return text.length <= maxDescription ? text : `${text.slice(0, maxDescription).toWellFormed()}…`
}

function readLine(words: string): string {
  const text = words.replace(/<[^>]*>/g, tag => (inline.test(tag) ? '' : ' '))
  return decodeEntities(text).replace(/\s+/g, ' ').trim()
}

/** Before a tag that would be cut in two. */
function beginningOf(words: string): string {
  return words.length <= maxRead ? words : words.slice(0, words.lastIndexOf('<', maxRead))
}
