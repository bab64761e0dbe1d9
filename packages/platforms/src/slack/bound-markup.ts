// Keeps the adapter from parsing texts whose markup would stop the process for seconds.
import type { Adapter, FormattedContent } from 'chat'

/** The converter of the adapter, which parses the text of each message on its own. */
interface MarkupParser {
  toAst(text: string): FormattedContent
}

/** The longest text whose markup is parsed. The time of the parser grows with the square of the length. */
const maxChars = 8_000
/** The maximum number of emphasis marks in one paragraph. */
const maxMarks = 500
/** The beginning of a line that opens twenty quotes or lists, one inside the other. */
const deepLine = /^(?:[ \t]*(?:[-+*>]|&gt;|\d{1,9}[.)])){20}/m

/** Makes the adapter take the text of hostile markup as it is. */
export function boundMarkup(adapter: Adapter): void {
  const { formatConverter: parser } = adapter as Adapter & { readonly formatConverter: MarkupParser }
  const parse = parser.toAst.bind(parser)
  parser.toAst = text => (isHostile(text) ? takeLiterally(text) : parse(text))
}

function isHostile(text: string): boolean {
  if (text.length > maxChars || deepLine.test(text)) return true
  return text.split(/\n[ \t]*\n/).some(paragraph => (paragraph.match(/[*_~]/g) ?? []).length > maxMarks)
}

function takeLiterally(text: string): FormattedContent {
  const value = text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
  return { type: 'root', children: [{ type: 'paragraph', children: [{ type: 'text', value }] }] }
}
