// Converts HTML to plain text, and leaves out text that a reader of the page could not see.
import { readVisibleText } from '@postern/message/visible-text'
import type { HtmlAttributes, HtmlReader, OpenList } from '../elements/elements.ts'
import {
  blockBreaks,
  createOpenElements,
  nextMark,
  openList,
  silentElements,
  tokenizeHtml,
  voidElements,
} from '../elements/elements.ts'
import type { Visual } from '../hidden/visual.ts'
import { isHiding, mayBeHiding } from '../hidden/visual.ts'
import type { HidingOptions, StyleContext } from './element-styles.ts'
import {
  bareLink,
  createStyleReader,
  maxClasses,
  plainContext,
  specialElements,
  styleElement,
  stylingAttributes,
} from './element-styles.ts'
import type { WriteMark } from './inline-marks.ts'
import { bracketAlternative, createMarkWriter, readAlternative, readBox } from './inline-marks.ts'
import type { MathReader } from './math-reader.ts'
import { createMathReader } from './math-reader.ts'

/**
 * Converts HTML to plain text in one pass. Paragraphs, lists, quotes and `pre` become lines, and links keep their address. Invisible characters stay.
 * Nothing is fetched. Text that a reader does not see is left out and reported, whether attributes, inline styles or style sheets hide it, with
 * inheritance and cascade.
 */
export function htmlToText(html: string, options: HtmlTextOptions = {}): HtmlText {
  const writer = createHtmlTextWriter(html, options)
  tokenizeHtml(html, writer)
  return writer.end()
}

/** The context of a text. */
interface TextContext extends StyleContext {
  /** True for content that is never text: a script, or an element that the options leave out. */
  readonly isSilent: boolean
  readonly list: OpenList | undefined
  readonly quotes: number
}

/** The deepest quote with marks of its own. */
const maxQuotes = 8

interface WriterState {
  readonly html: string
  readonly options: HtmlTextOptions
  readonly sheet: TextSheet
  readonly hasSheets: boolean
  /** The reader of styles. Absent until an element has a style, because most posts have none. */
  styles: ReturnType<typeof createStyleReader> | undefined
  readonly open: ReturnType<typeof createOpenElements<TextContext>>
  readonly links: ReturnType<typeof createLinkWriter>
  readonly marks: ReturnType<typeof createMarkWriter>
  /** The open formula. */
  math: MathReader | undefined
  hasHidden: boolean
  /** True once `omit` has ended the text. */
  isOver: boolean
}

/** Writes the tokens of a document as text. */
function createHtmlTextWriter(html: string, options: HtmlTextOptions): HtmlReader & { end(): HtmlText } {
  const sheet = createTextSheet()
  const hasSheets = styleElement.test(html)
  const styles = hasSheets ? createStyleReader(html, options) : undefined
  const { root } = styles ?? { root: plainContext }
  const open = createOpenElements<TextContext>({ ...root, isSilent: false, list: undefined, quotes: 0 })
  const links = createLinkWriter(sheet, options)
  const initial = {
    marks: createMarkWriter(sheet, undefined, options.syntax?.marks),
    math: undefined,
    hasHidden: false,
    isOver: false,
  }
  const state: WriterState = { html, options, sheet, hasSheets, styles, open, links, ...initial }
  return {
    isForeign: () => open.has('svg') || open.has('math'),
    text(text) {
      const context = open.context()
      if (state.math) state.math.text(text)
      else if (!state.isOver && !context.isSilent) write(state, text, context)
    },
    open(name, attributes) {
      if (state.isOver || options.omit?.(name, attributes) === 'rest') state.isOver = true
      else {
        breakFor(state, name)
        state.math?.open(name, attributes)
        if (voidElements.has(name)) openVoid(state, name, attributes)
        else openElement(state, name, attributes)
      }
    },
    close(name) {
      if (state.isOver) return
      if (name === 'a' && !open.context().isSilent) state.hasHidden = links.close() || state.hasHidden
      // Browsers create an element even for an end tag without a start tag.
      if (name === 'br') openVoid(state, name, noAttributes)
      closeMath(state, name)
      if (!open.context().isSilent) state.marks.close(name)
      if (open.has(name) || name === 'p') breakFor(state, name)
      if (open.leave(name)) breakFor(state, name)
    },
    end() {
      closeMath(state, 'math')
      state.marks.endAll()
      state.hasHidden = links.close() || state.hasHidden || state.styles?.isExhausted() === true
      return { text: links.withoutAddress(sheet.toString()), hasHidden: state.hasHidden }
    },
  }
}

function write(state: WriterState, raw: string, { visual, quotes, list }: TextContext): void {
  const { sheet, links } = state
  const isHidden = hides(visual)
  const isBlank = readVisibleText(raw).text.trim() === ''
  const isInLink = links.addText(raw, isHidden && !isBlank)
  if (!isBlank && (isHidden ? !isInLink : !isBare(visual) && mayBeHiding(visual))) state.hasHidden = true
  if (isHidden) return
  sheet.next.prefix = '> '.repeat(quotes) + '  '.repeat(Math.max(0, (list?.depth ?? 0) - 1))
  const collapsedText = visual.isVerbatim ? raw : raw.replace(/[ \t\r\n\u00a0]+/g, ' ')
  const isCode = visual.isVerbatim || state.open.has('code')
  sheet.append(
    isCode ? collapsedText : (state.options.syntax?.escape(collapsedText) ?? collapsedText),
    visual.isVerbatim,
  )
}

function hides(visual: Visual): boolean {
  return !isBare(visual) && isHiding(visual)
}

/** Returns true if no style changes the text, so that everybody sees it. */
function isBare(visual: Visual): boolean {
  return visual === plainContext.visual || visual === bareLink.visual
}

function describeContext(
  state: WriterState,
  name: string,
  attributes: HtmlAttributes,
  outer: TextContext,
): TextContext {
  const { options } = state
  const isLeftOut = isKatexBoxes(attributes) || options.omit?.(name, attributes) === 'element'
  const isSilent = outer.isSilent || silentElements.has(name) || isLeftOut
  if (isSilent) return { ...outer, isSilent }
  const isQuote = name === 'blockquote' || options.isQuote?.(name, attributes) === true
  const quotes = isQuote ? Math.min(outer.quotes + 1, maxQuotes) : outer.quotes
  return {
    ...outer,
    ...readStyle(state, name, attributes, outer),
    list: openList(name, attributes, outer.list),
    quotes,
  }
}

/** Returns true for the visual boxes of a formula, which KaTeX writes twice: as MathML and as boxes. */
function isKatexBoxes(attributes: HtmlAttributes): boolean {
  return attributes.get('class')?.trim() === 'katex-html'
}

/** Reads the look of an element. Only styled elements and their descendants need the reader of styles. */
function readStyle(state: WriterState, name: string, attributes: HtmlAttributes, outer: StyleContext): StyleContext {
  const { html, hasSheets, options } = state
  const isUnstyled = !hasSheets && isBare(outer.visual) && !specialElements.has(name)
  if (isUnstyled && !hasStyling(attributes, options)) return name === 'a' && attributes.has('href') ? bareLink : outer
  state.styles ??= createStyleReader(html, options)
  return state.styles.read(name, attributes, outer)
}

function hasStyling(attributes: HtmlAttributes, { hidingClasses }: HtmlTextOptions): boolean {
  for (const name of attributes.keys()) if (stylingAttributes.has(name)) return true
  const classes = hidingClasses && attributes.get('class')
  return classes ? classes.split(/\s+/, maxClasses).some(className => hidingClasses.has(className)) : false
}

function breakFor(state: WriterState, name: string): void {
  const { open, sheet } = state
  const { list, isSilent } = open.context()
  if (isSilent) return
  const isInner = (name === 'ul' || name === 'ol') && list !== undefined
  sheet.breakLines(isInner ? 1 : (blockBreaks.get(name) ?? 0))
}

const noAttributes: HtmlAttributes = new Map()

function openVoid(state: WriterState, name: string, attributes: HtmlAttributes): void {
  const { open, sheet } = state
  if (open.context().isSilent || hides(open.context().visual)) return
  if (name === 'img') writePicture(state, attributes)
  if (name === 'input') sheet.append(readBox(attributes) ?? '')
  if (name === 'br') sheet.addBreak()
  if (name !== 'hr' || sheet.isEmpty()) return
  sheet.append('---')
  sheet.breakLines(2)
}

/** Writes a picture. In a link, its alternative text becomes the text of the link. */
function writePicture(state: WriterState, attributes: HtmlAttributes): void {
  const { open, sheet, links } = state
  const text = readAlternative(attributes)
  if (text === undefined || hides(describeContext(state, 'img', attributes, open.context()).visual)) return
  const inLink = links.addText(text, false)
  const pictureText = state.options.syntax?.picture(text, attributes.get('src'), inLink)
  sheet.append(pictureText ?? (inLink ? text : bracketAlternative(text)))
}

function closeMath(state: WriterState, name: string): void {
  const { math, sheet } = state
  math?.close(name)
  if (!math || name !== 'math') return
  state.math = undefined
  sheet.append(math.toString())
}

function openElement(state: WriterState, name: string, attributes: HtmlAttributes): void {
  const { open, sheet, links, options } = state
  const outer = open.context()
  open.enter(name, from => describeContext(state, name, attributes, from))
  const { list, isSilent, quotes, visual } = open.context()
  if (name === 'math' && !outer.isSilent && !hides(visual)) state.math = createMathReader(attributes)
  if (isSilent) return
  const heading = options.syntax?.headings.get(name)
  if (heading !== undefined) sheet.next.mark = heading
  state.marks.open(name)
  if (quotes > outer.quotes) sheet.breakLines(2)
  if (name === 'li') sheet.next.mark = nextMark(list)
  if (name === 'td' || name === 'th') sheet.next.gap = ' '
  if (name === 'a') state.hasHidden = links.open(attributes, hides(open.context().visual)) || state.hasHidden
}

/** The text of HTML, without the text that a reader does not see. */
interface HtmlText {
  readonly text: string
  /** True if words were hidden, or if it cannot be determined here whether they are. */
  readonly hasHidden: boolean
}

export interface HtmlTextOptions extends LinkOptions, HidingOptions {
  /** Returns true if an element contains a quotation, as a `blockquote` does. */
  readonly isQuote?: ((name: string, attributes: HtmlAttributes) => boolean) | undefined
  /** Returns `element` to leave out an element, or `rest` to leave it out with everything after it. */
  readonly omit?: ((name: string, attributes: HtmlAttributes) => 'element' | 'rest' | undefined) | undefined
}

interface Bookmark {
  /** The index of the first piece that was written after the bookmark. Absent until then. */
  piece?: number
}

interface SheetState {
  readonly pieces: string[]
  /** The number of line ends before the next text. */
  pendingBreaks: number
  /** The mark before the next text. */
  mark: string
  /** The gap before the next text, unless a line begins there. */
  gap: string
  /** The prefix of each line, from the next line end on. */
  prefix: string
  /** The prefix of the current line. */
  linePrefix: string
  /** The bookmarks that the next text sets. */
  waiting: Bookmark[]
}

type TextSheet = ReturnType<typeof createTextSheet>

/** Creates an unfinished text with pending line ends and marks. It is kept in pieces, so that long documents take linear time. */
function createTextSheet() {
  const state: SheetState = { pieces: [], pendingBreaks: 0, mark: '', gap: '', prefix: '', linePrefix: '', waiting: [] }
  return {
    /** Adds text. `isVerbatim` preserves its spaces and lines. */
    append: (text: string, isVerbatim = false) => append(state, text, isVerbatim),
    /** Begins the next text after at least this many line ends. */
    breakLines(count: number) {
      if (state.pieces.length > 0) state.pendingBreaks = Math.max(state.pendingBreaks, count)
    },
    /** Adds a line end. Two leave one line empty, and further ones have no effect. */
    addBreak() {
      if (state.pieces.length > 0) state.pendingBreaks = Math.min(state.pendingBreaks + 1, 2)
    },
    next: state as Pick<SheetState, 'mark' | 'gap' | 'prefix'>,
    isEmpty: () => state.pieces.length === 0,
    /** Returns a bookmark for the position at which the next text begins. */
    bookmark() {
      const textStart: Bookmark = {}
      state.waiting.push(textStart)
      return textStart
    },
    charBefore: ({ piece }: Bookmark) => (piece === undefined ? '' : (state.pieces[piece - 1]?.at(-1) ?? '')),
    /** Returns the text written since a bookmark. */
    since: ({ piece }: Bookmark) => (piece === undefined ? '' : state.pieces.slice(piece).join('')),
    /** Replaces the text since a bookmark by `text`. */
    replaceSince({ piece }: Bookmark, text: string) {
      if (piece === undefined) return
      state.pieces.length = Math.min(state.pieces.length, piece)
      if (text) state.pieces.push(text)
    },
    toString: () => state.pieces.join('').trim(),
  }
}

function endLine(state: SheetState): void {
  while (state.pieces.length > 0 && state.pieces.at(-1)?.trim() === '') state.pieces.pop()
  const last = state.pieces.pop()
  if (last === undefined) return
  // An empty line between two quoted lines is quoted too.
  const separator = state.prefix.startsWith(state.linePrefix) ? state.linePrefix : state.prefix
  state.pieces.push(last.trimEnd(), `\n${separator.trimEnd()}`.repeat(state.pendingBreaks - 1), '\n')
}

function beginLine(state: SheetState): void {
  if (state.pendingBreaks > 0) endLine(state)
  state.pendingBreaks = 0
  if (state.prefix) state.pieces.push(state.prefix)
  state.linePrefix = state.prefix
}

function beginText(state: SheetState): void {
  if (state.pendingBreaks > 0 || state.pieces.length === 0) beginLine(state)
  else if (state.gap && !/\s$/.test(state.pieces.at(-1) ?? '')) state.pieces.push(state.gap)
  if (state.mark) state.pieces.push(state.mark)
  state.mark = ''
  state.gap = ''
  for (const textStart of state.waiting) textStart.piece = state.pieces.length
  state.waiting = []
}

function append(state: SheetState, text: string, isVerbatim: boolean): void {
  const needsNoSpace = state.pendingBreaks > 0 || /\s/.test(state.pieces.at(-1)?.at(-1) ?? ' ')
  const visibleText = needsNoSpace && !isVerbatim ? text.trimStart() : text
  if (!visibleText) return
  beginText(state)
  state.pieces.push(isVerbatim && state.prefix ? visibleText.replaceAll('\n', `\n${state.prefix}`) : visibleText)
}

interface Link {
  readonly href: string
  readonly isName: boolean
  readonly isOwn: boolean
  readonly isFirst: boolean
  readonly isHidden: boolean
  readonly textStart: Bookmark
  /** The link's text with its hidden parts, because Mastodon hides parts of long addresses. */
  fullText: string
  hasHiddenText: boolean
}

/** The marks of a syntax other than plain text. */
export interface TextSyntax {
  /** The marks before the text of a heading, by its element. */
  readonly headings: ReadonlyMap<string, string>
  /** The marks of inline elements, in addition to those of plain text. */
  readonly marks: ReadonlyMap<string, WriteMark>
  escape(text: string): string
  link(label: string, href: string): string
  picture(text: string, src: string | undefined, inLink: boolean): string
}

interface LinkOptions {
  /** The syntax. The default is plain text. */
  readonly syntax?: TextSyntax | undefined

  /** Returns true for a mention of the recipient. At the very beginning it is left out, because it only repeats the address on the envelope. */
  readonly isOwnMention?: ((href: string) => boolean) | undefined
  /** Returns the address that is shown for a link, or undefined to show none. The default accepts http, https and mailto. */
  readonly findAddress?: ((href: string) => string | undefined) | undefined
}

const maxUrlChars = 2048

/** Creates the writer of links, which shows where they lead. `open` and `close` return true if words were hidden. */
function createLinkWriter(sheet: TextSheet, options: LinkOptions) {
  const findAddress = options.findAddress ?? findKnownAddress
  let link: Link | undefined
  let hasDropped = false

  /**
   * Closes a link. Its text stands alone only if it is the link's own address. Next to any other text the address is shown, so that the text cannot
   * pretend to lead elsewhere.
   */
  function close(): boolean {
    if (!link) return false
    const { isOwn, isFirst, textStart, hasHiddenText, isHidden } = link
    const isAddress = isSameAddress(link)
    // Many servers mark mentions with no class, or with a class of their own.
    const isName = link.isName || (isOwn && sheet.since(textStart).trimStart().startsWith('@'))
    if (isName && isOwn && isFirst) {
      sheet.replaceSince(textStart, '')
      hasDropped = true
    } else if (!isName && !isHidden) writeAddress(link, isAddress)
    link = undefined
    return hasHiddenText && !isAddress
  }

  function writeAddress({ href, textStart, hasHiddenText }: Link, isAddress: boolean): void {
    const linkText = sheet.since(textStart).trim()
    if (options.syntax && linkText) sheet.replaceSince(textStart, options.syntax.link(sheet.since(textStart), href))
    else if (!linkText) sheet.append(href)
    else if (!isAddress) sheet.append(` (${href})`)
    else if (hasHiddenText) sheet.replaceSince(textStart, href)
  }

  return {
    open(attributes: HtmlAttributes, isHidden: boolean): boolean {
      const hadHiddenText = close()
      const rawHref = attributes.get('href') ?? ''
      const href = rawHref.length > maxUrlChars ? undefined : findAddress(rawHref.trim())
      if (!href) return hadHiddenText
      const isName = /(?:^|\s)(?:mention|hashtag)(?:\s|$)/.test((attributes.get('class') ?? '').slice(0, maxUrlChars))
      const isOwn = options.isOwnMention?.(href) === true
      const textStart = sheet.bookmark()
      link = { href, isName, isOwn, isFirst: sheet.isEmpty(), isHidden, textStart, fullText: '', hasHiddenText: false }
      return hadHiddenText
    },
    /** Adds text to the open link, whose hidden parts are judged at its end. It returns false outside a link. */
    addText(text: string, isHidden: boolean): boolean {
      if (!link) return false
      if (link.fullText.length <= maxUrlChars) link.fullText += text
      if (isHidden) link.hasHiddenText = true
      return true
    },
    close,
    /** Removes the separator after a mention that was left out. */
    withoutAddress: (text: string) => (hasDropped ? text.replace(afterAddress, '') : text),
  }
}

function findKnownAddress(href: string): string | undefined {
  return /^(?:https?|mailto):/i.test(href) ? href : undefined
}

function isSameAddress({ fullText, href }: Link): boolean {
  const text = fullText.trim().replace(/\/$/, '')
  const address = href.replace(/\/$/, '')
  return ['', 'https://', 'http://', 'mailto:'].some(scheme => scheme + text === address)
}

/** Matches the separator between an address and the following text. */
export const afterAddress = /^\s*[,:](?=\s|$)\s*|^\s+/
