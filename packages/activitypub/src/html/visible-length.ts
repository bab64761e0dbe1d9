import { decodeEntities } from '@postern/core'
import { lazy } from '@postern/core/lazy'

/** The length that every address counts, however long it is (Mastodon's `characters_reserved_per_url`). */
const addressLength = 23
/** A list's bullet and its space, or a number of one digit. */
const markLength = 2
/** Web addresses, as far as our HTML writers recognize them; and people with their host. */
const countedApart =
  /(?<address>https?:\/\/[^\s<>"'`\\\][{}|^]{0,2047}[^\s<>"'`\\\][{}|^.,;:!?*_~)])|(?<![=/\w])(?<person>@\w[\w.-]{0,63})@\w(?:[\w.-]{0,252}\w)?/giu

/**
 * The length of a text as Mastodon counts it (`StatusLengthValidator`): grapheme clusters, so that a letter with its
 * accents and a family of emoji are one; an address is 23, of `@user@host` only `@user` counts.
 * Stops counting when it is beyond `max`.
 */
export function countText(text: string, max = Number.POSITIVE_INFINITY): number {
  let count = 0
  let from = 0
  for (const { 0: found, index, groups } of text.matchAll(countedApart)) {
    count += countGraphemes(text.slice(from, index), max - count) + (groups?.person?.length ?? addressLength)
    if (count > max) return count
    from = index + found.length
  }
  return count + countGraphemes(text.slice(from), max - count)
}

/**
 * The length of HTML as a reader sees it, as if the same text were typed. Ends of lines and paragraphs, and list marks,
 * count too.
 */
export function countVisible(html: string, max = Number.POSITIVE_INFINITY): number {
  let count = 0
  for (const { text, marks, breaks } of readVisibleLines(html)) {
    count += (count > 0 ? breaks : 0) + marks * markLength + countText(text, max - count)
    if (count > max) return count
  }
  return count
}

/** The addresses of a text and what is between them, in order. */
export function* readAddresses(text: string): Generator<{ readonly text: string; readonly isWhole: boolean }> {
  let from = 0
  for (const { 0: found, index } of text.matchAll(countedApart)) {
    if (index > from) yield { text: text.slice(from, index), isWhole: false }
    yield { text: found, isWhole: true }
    from = index + found.length
  }
  if (from < text.length) yield { text: text.slice(from), isWhole: false }
}

/** A line of text as a reader sees it. */
interface VisibleLine {
  readonly text: string
  /** Line ends since the line before. */
  readonly breaks: number
  /** List items that begin here. */
  readonly marks: number
}

/** Lines that end before and after an element. */
const breaks: ReadonlyMap<string, number> = new Map([
  ['br', 1],
  ['li', 1],
  ...'p ul ol blockquote pre h1 h2 h3 h4 h5 h6'.split(' ').map(name => [name, 2] as const),
])

/** The lines of HTML that holds known elements only; those without text are passed over. */
function* readVisibleLines(html: string): Generator<VisibleLine> {
  const pieces: string[] = []
  const since = { breaks: 0, marks: 0 }
  let verbatim = 0
  for (const token of readLineTokens(html)) {
    if (token.kind === 'text') {
      pieces.push(decodeEntities(token.text))
      continue
    }
    const text = readLine(pieces.splice(0), verbatim > 0)
    if (text) yield takeLine(text, since)
    noteBreak(token, since)
    if (token.name === 'pre') verbatim += token.kind === 'open' ? 1 : -1
  }
  const text = readLine(pieces, false)
  if (text) yield takeLine(text, since)
}

/** Without elements within lines. */
function* readLineTokens(html: string): Generator<HtmlToken> {
  for (const token of readHtml(html)) if (token.kind === 'text' || breaks.has(token.name)) yield token
}

interface Since {
  breaks: number
  marks: number
}

/** Browsers show one space for many, and none at the ends. */
function readLine(pieces: readonly string[], isVerbatim: boolean): string {
  const text = pieces.join('')
  return isVerbatim ? text : text.replace(/[ \t\n\r\f]+/g, ' ').trim()
}

function takeLine(text: string, since: Since): VisibleLine {
  const line = { text, ...since }
  Object.assign(since, { breaks: 0, marks: 0 })
  return line
}

function noteBreak({ kind, name }: Exclude<HtmlToken, { kind: 'text' }>, since: Since): void {
  if (name === 'br') since.breaks += 1
  else since.breaks = Math.max(since.breaks, breaks.get(name) ?? 0)
  if (name === 'li' && kind === 'open') since.marks += 1
}

const segmenter = lazy(() => new Intl.Segmenter('und', { granularity: 'grapheme' }))
/** Below U+0300 nothing joins what is before it; only such a character right before another one can be part of more. */
const needsSegmenting = /[\0-\u02ff]?[^\0-\u02ff]+/g

/** How many grapheme clusters (UAX 29) a text has. Stops counting when it is beyond `max`. */
function countGraphemes(text: string, max = Number.POSITIVE_INFINITY): number {
  let count = 0
  let from = 0
  for (const { 0: run, index } of text.matchAll(needsSegmenting)) {
    count += index - from
    for (const _ of segmenter().segment(run)) {
      count += 1
      if (count > max) return count
    }
    from = index + run.length
  }
  return count + text.length - from
}

/** The grapheme clusters of a text, in order. */
export function* readGraphemes(text: string): Generator<string> {
  for (const { segment } of segmenter().segment(text)) yield segment
}

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
