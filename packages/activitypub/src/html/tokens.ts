/** A piece of HTML. `attributes` is the text between the name and the end of the tag; it is parsed on demand. */
export type HtmlToken =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'open'; readonly name: string; readonly attributes: string; readonly isEmpty: boolean }
  | { readonly kind: 'close'; readonly name: string }

/** Elements whose content is no text for people: passed over up to their end tag. */
const skippedElements: ReadonlySet<string> = new Set([
  'script',
  'style',
  'template',
  'noscript',
  'iframe',
  'object',
  'svg',
  'math',
  'head',
  'title',
  'textarea',
  'select',
  'audio',
  'video',
  'canvas',
])
const voidElements: ReadonlySet<string> = new Set(['br', 'hr', 'img', 'input', 'wbr', 'meta', 'link', 'source', 'col'])
const namePattern = /[a-z][a-z0-9-]{0,30}/iy
/** Any other `<` is text. */
const markupPattern = /<[a-z/!?]/gi

/**
 * Cuts HTML into tokens in one pass: every byte is looked at a bounded number of times, whatever it holds.
 * As in browsers a tag or comment without an end swallows the rest.
 */
export function* readHtml(html: string): Generator<HtmlToken> {
  let at = 0
  while (at < html.length) {
    markupPattern.lastIndex = at
    const start = markupPattern.exec(html)?.index
    if (start === undefined) return yield { kind: 'text', text: html.slice(at) }
    if (start > at) yield { kind: 'text', text: html.slice(at, start) }
    const markup = readMarkup(html, start)
    if (markup.token) yield markup.token
    at = markup.end
  }
}

interface Markup {
  readonly token?: HtmlToken
  readonly end: number
}

function readMarkup(html: string, start: number): Markup {
  const isClosing = html[start + 1] === '/'
  const name = readName(html, start + (isClosing ? 2 : 1))
  if (name) return isClosing ? readEndTag(html, start, name) : readStartTag(html, start, name)
  if (html.startsWith('<!--', start)) return { end: endAfter(html, '-->', start + 4) }
  return { end: endAfter(html, '>', start + 1) }
}

function readName(html: string, at: number): string {
  namePattern.lastIndex = at
  return namePattern.exec(html)?.[0].toLowerCase() ?? ''
}

function readEndTag(html: string, start: number, name: string): Markup {
  return { token: { kind: 'close', name }, end: endAfter(html, '>', start) }
}

function readStartTag(html: string, start: number, name: string): Markup {
  const from = start + 1 + name.length
  const close = endOfTag(html, from)
  const end = close + 1
  if (skippedElements.has(name)) return { end: endOfElement(html, name, end) }
  const attributes = html.slice(from, close)
  const isEmpty = voidElements.has(name)
  return { token: { kind: 'open', name, attributes, isEmpty }, end }
}

/** The `>` that ends a tag, quotes respected. */
function endOfTag(html: string, from: number): number {
  let quote = ''
  for (let at = from; at < html.length; at += 1) {
    const char = html[at] as string
    if (quote) quote = char === quote ? '' : quote
    else if (char === '>') return at
    else if ((char === '"' || char === "'") && html[at - 1] === '=') quote = char
  }
  return html.length
}

/** Looks for the end tag once; when there is none the rest of the document is the element's. */
function endOfElement(html: string, name: string, from: number): number {
  const endTag = new RegExp(`</${name}[\\s/>]`, 'gi')
  endTag.lastIndex = from
  const found = endTag.exec(html)
  return found ? endAfter(html, '>', found.index) : html.length
}

function endAfter(html: string, mark: string, from: number): number {
  const found = html.indexOf(mark, from)
  return found < 0 ? html.length : found + mark.length
}
