import { Tokenizer } from 'htmlparser2'

/** Attributes of a start tag, names in lower case; if one is repeated the first counts, as in browsers. */
export type HtmlAttributes = ReadonlyMap<string, string>

/** What a document consists of, in order. Text has its character references resolved. */
export interface HtmlReader {
  text(text: string): void
  open(name: string, attributes: HtmlAttributes): void
  close(name: string): void
  /** True inside of `svg` and `math`, where other rules hold for the content of elements. */
  isForeign(): boolean
}

const [maxAttributes, maxValue] = [64, 8192]
const foreignRoots: ReadonlySet<string> = new Set(['svg', 'math'])

/** Reads HTML in one pass, with the rules of browsers (HTML §13.2.5): what has no end takes the rest of the document. */
export function tokenizeHtml(html: string, reader: HtmlReader): void {
  let name = ''
  let attributes = new Map<string, string>()
  let key = ''
  let value = ''
  let words: string[] = []

  function flushText(): void {
    if (words.length > 0) reader.text(words.join(''))
    words = []
  }
  function openTag(isSelfClosing: boolean): void {
    flushText()
    if (isSelfClosing && (foreignRoots.has(name) || reader.isForeign())) return
    reader.open(name, attributes)
  }
  function extendValue(piece: string): void {
    if (value.length < maxValue) value += piece.slice(0, maxValue)
  }

  const tokenizer = new Tokenizer(
    {},
    {
      ontext: (start, end) => void words.push(html.slice(start, end)),
      ontextentity: code => void words.push(String.fromCodePoint(code)),
      onopentagname(start, end) {
        name = html.slice(start, Math.min(end, start + 64)).toLowerCase()
        attributes = new Map()
      },
      onattribname(start, end) {
        key = html.slice(start, Math.min(end, start + 64)).toLowerCase()
        value = ''
      },
      onattribdata: (start, end) => extendValue(html.slice(start, Math.min(end, start + maxValue))),
      onattribentity: code => extendValue(String.fromCodePoint(code)),
      onattribend() {
        if (attributes.size < maxAttributes && !attributes.has(key)) attributes.set(key, value)
      },
      onopentagend: () => openTag(false),
      onselfclosingtag: () => openTag(true),
      onclosetag(start, end) {
        flushText()
        reader.close(
          html
            .slice(start, Math.min(end, start + 64))
            .trim()
            .toLowerCase(),
        )
      },
      isInForeignContext: () => reader.isForeign(),
      oncdata: (start, end, offset) => void words.push(html.slice(start, end - offset)),
      oncomment() {},
      ondeclaration() {},
      onprocessinginstruction() {},
      onend: flushText,
    },
  )
  tokenizer.write(html)
  tokenizer.end()
}
