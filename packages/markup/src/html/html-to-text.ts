import type { HtmlAttributes, HtmlReader, OpenList } from '../elements/elements.ts'
import {
  blockBreaks,
  createOpenElements,
  nextMark,
  openList,
  readVisibleCharacters,
  silentElements,
  tokenizeHtml,
  voidElements,
} from '../elements/elements.ts'
import type { Visual } from '../hidden/visual.ts'
import { isHiding, mayBeHiding } from '../hidden/visual.ts'
import type { HidingOptions, StyledPlace } from './element-styles.ts'
import {
  bare,
  bareLink,
  createStyleReader,
  maxClasses,
  specialElements,
  styleElement,
  stylingAttributes,
} from './element-styles.ts'

/**
 * Plain text of HTML in one pass: paragraphs, lists, quotes and `pre` kept as lines, links with their address. Nothing is fetched. Text
 * that a reader does not see is left out and reported: by attributes, inline styles and style sheets, with inheritance and cascade.
 */
export function htmlToText(html: string, options: HtmlTextOptions = {}): HtmlText {
  const writer = createHtmlTextWriter(html, options)
  tokenizeHtml(html, writer)
  return writer.end()
}

/** The surroundings of a text. */
interface TextPlace extends StyledPlace {
  /** Never text: a script, or an element that the options leave out. */
  readonly isSilent: boolean
  readonly list: OpenList | undefined
  readonly quotes: number
}

/** Deeper ones look the same. */
const maxQuotes = 8

interface WriterState {
  readonly html: string
  readonly options: HtmlTextOptions
  readonly sheet: TextSheet
  readonly hasSheets: boolean
  /** Absent until an element has a style: most posts have none at all. */
  styles: ReturnType<typeof createStyleReader> | undefined
  readonly open: ReturnType<typeof createOpenElements<TextPlace>>
  readonly links: ReturnType<typeof createLinkWriter>
  hasHidden: boolean
  invisible: number
  /** `omit` has ended the text. */
  isOver: boolean
}

/** Writes the tokens of a document as text. */
function createHtmlTextWriter(html: string, options: HtmlTextOptions): HtmlReader & { end(): HtmlText } {
  const sheet = createTextSheet()
  const hasSheets = styleElement.test(html)
  const styles = hasSheets ? createStyleReader(html, options) : undefined
  const { root } = styles ?? { root: bare }
  const open = createOpenElements<TextPlace>({ ...root, isSilent: false, list: undefined, quotes: 0 })
  const links = createLinkWriter(sheet, options)
  const begun = { hasHidden: false, invisible: 0, isOver: false }
  const state: WriterState = { html, options, sheet, hasSheets, styles, open, links, ...begun }
  return {
    isForeign: () => open.has('svg') || open.has('math'),
    text(text) {
      const place = open.context()
      if (!state.isOver && !place.isSilent) write(state, text, place)
    },
    open(name, attributes) {
      if (state.isOver || options.omit?.(name, attributes) === 'rest') state.isOver = true
      else {
        breakFor(state, name)
        if (voidElements.has(name)) openVoid(state, name)
        else openElement(state, name, attributes)
      }
    },
    close(name) {
      if (state.isOver) return
      if (name === 'a' && !open.context().isSilent) state.hasHidden = links.close() || state.hasHidden
      // Browsers make an element of the end tag alone.
      if (name === 'br') openVoid(state, name)
      if (open.has(name) || name === 'p') breakFor(state, name)
      if (open.leave(name)) breakFor(state, name)
    },
    end() {
      state.hasHidden = links.close() || state.hasHidden || state.styles?.isExhausted() === true
      return { text: links.withoutAddress(sheet.toString()), hasHidden: state.hasHidden, invisible: state.invisible }
    },
  }
}

function write(state: WriterState, raw: string, { visual, quotes, list }: TextPlace): void {
  const { sheet, links } = state
  const read = readVisibleCharacters(raw)
  state.invisible += read.invisible
  const isHidden = hides(visual)
  const isBlank = read.text.trim() === ''
  const isOfLink = links.take(read.text, isHidden && !isBlank)
  if (!isBlank && (isHidden ? !isOfLink : !isBare(visual) && mayBeHiding(visual))) state.hasHidden = true
  if (isHidden) return
  sheet.next.prefix = '> '.repeat(quotes) + '  '.repeat(Math.max(0, (list?.depth ?? 0) - 1))
  sheet.append(visual.isVerbatim ? read.text : read.text.replace(/[ \t\r\n\u00a0]+/g, ' '), visual.isVerbatim)
}

function hides(visual: Visual): boolean {
  return !isBare(visual) && isHiding(visual)
}

/** Everybody sees text that no style changes. */
function isBare(visual: Visual): boolean {
  return visual === bare.visual || visual === bareLink.visual
}

function describe(state: WriterState, name: string, attributes: HtmlAttributes, outer: TextPlace): TextPlace {
  const { options } = state
  const isSilent = outer.isSilent || silentElements.has(name) || options.omit?.(name, attributes) === 'element'
  if (isSilent) return { ...outer, isSilent }
  const isQuote = name === 'blockquote' || options.isQuote?.(name, attributes) === true
  const quotes = isQuote ? Math.min(outer.quotes + 1, maxQuotes) : outer.quotes
  return { ...outer, ...readLook(state, name, attributes, outer), list: openList(name, attributes, outer.list), quotes }
}

/** Only elements with a style, and those within them, need the reader of styles. */
function readLook(state: WriterState, name: string, attributes: HtmlAttributes, outer: StyledPlace): StyledPlace {
  const { html, hasSheets, options } = state
  const isUnstyled = !hasSheets && isBare(outer.visual) && !specialElements.has(name)
  if (isUnstyled && !hasStyling(attributes, options)) return name === 'a' && attributes.has('href') ? bareLink : outer
  state.styles ??= createStyleReader(html, options)
  return state.styles.read(name, attributes, outer)
}

function hasStyling(attributes: HtmlAttributes, { hidingClasses }: HtmlTextOptions): boolean {
  for (const name of attributes.keys()) if (stylingAttributes.has(name)) return true
  const classes = hidingClasses && attributes.get('class')
  return classes ? classes.split(/\s+/, maxClasses).some(each => hidingClasses.has(each)) : false
}

function breakFor(state: WriterState, name: string): void {
  const { open, sheet } = state
  const { list, isSilent } = open.context()
  if (isSilent) return
  const isInner = (name === 'ul' || name === 'ol') && list !== undefined
  sheet.breakLines(isInner ? 1 : (blockBreaks.get(name) ?? 0))
}

function openVoid(state: WriterState, name: string): void {
  const { open, sheet } = state
  if (open.context().isSilent || hides(open.context().visual)) return
  if (name === 'br') sheet.addBreak()
  if (name !== 'hr' || sheet.isEmpty()) return
  sheet.append('---')
  sheet.breakLines(2)
}

function openElement(state: WriterState, name: string, attributes: HtmlAttributes): void {
  const { open, sheet, links } = state
  const outer = open.context()
  open.enter(name, from => describe(state, name, attributes, from))
  const { list, isSilent, quotes } = open.context()
  if (isSilent) return
  if (quotes > outer.quotes) sheet.breakLines(2)
  if (name === 'li') sheet.next.mark = nextMark(list)
  if (name === 'td' || name === 'th') sheet.next.gap = ' '
  if (name === 'a') state.hasHidden = links.open(attributes, hides(open.context().visual)) || state.hasHidden
}

/** Text of HTML, and what was taken out of it because a reader does not see it. */
interface HtmlText {
  readonly text: string
  /** True when words were hidden, or when what hides them cannot be known here. */
  readonly hasHidden: boolean
  /** Characters that show nothing and were taken out. */
  readonly invisible: number
}

export interface HtmlTextOptions extends LinkOptions, HidingOptions {
  /** Does an element hold a quotation, as a `blockquote` does? */
  readonly isQuote?: ((name: string, attributes: HtmlAttributes) => boolean) | undefined
  /** Leaves out an element, or it and all that comes after it. */
  readonly omit?: ((name: string, attributes: HtmlAttributes) => 'element' | 'rest' | undefined) | undefined
}

interface Bookmark {
  /** Index of the first piece written after it was set; absent until then. */
  piece?: number
}

interface SheetState {
  readonly pieces: string[]
  /** Line ends before the next text. */
  pending: number
  /** Before the next text. */
  mark: string
  /** Before the next text, unless a line begins there. */
  gap: string
  /** Of each line, from the next line end on. */
  prefix: string
  /** The prefix of the current line. */
  written: string
  /** Bookmarks that the next text sets. */
  waiting: Bookmark[]
}

type TextSheet = ReturnType<typeof createTextSheet>

/** A text in progress: words, pending line ends, marks. It is kept in pieces, so that long documents cost linear time. */
function createTextSheet() {
  const state: SheetState = { pieces: [], pending: 0, mark: '', gap: '', prefix: '', written: '', waiting: [] }
  return {
    /** Adds text; `isVerbatim` keeps its spaces and lines. */
    append: (text: string, isVerbatim = false) => append(state, text, isVerbatim),
    /** The next text begins after at least this many line ends. */
    breakLines(count: number) {
      if (state.pieces.length > 0) state.pending = Math.max(state.pending, count)
    },
    /** Adds a line end; two leave a line empty, and further ones have no effect. */
    addBreak() {
      if (state.pieces.length > 0) state.pending = Math.min(state.pending + 1, 2)
    },
    next: state as Pick<SheetState, 'mark' | 'gap' | 'prefix'>,
    isEmpty: () => state.pieces.length === 0,
    /** A position to return to: the next text begins there. */
    bookmark() {
      const place: Bookmark = {}
      state.waiting.push(place)
      return place
    },
    /** The text written since. */
    since: ({ piece }: Bookmark) => (piece === undefined ? '' : state.pieces.slice(piece).join('')),
    /** Removes the text written since, and puts `text` there. */
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
  // A line between two quoted ones is quoted.
  const between = state.prefix.startsWith(state.written) ? state.written : state.prefix
  state.pieces.push(last.trimEnd(), `\n${between.trimEnd()}`.repeat(state.pending - 1), '\n')
}

function beginLine(state: SheetState): void {
  if (state.pending > 0) endLine(state)
  state.pending = 0
  if (state.prefix) state.pieces.push(state.prefix)
  state.written = state.prefix
}

function beginText(state: SheetState): void {
  if (state.pending > 0 || state.pieces.length === 0) beginLine(state)
  else if (state.gap && !/\s$/.test(state.pieces.at(-1) ?? '')) state.pieces.push(state.gap)
  if (state.mark) state.pieces.push(state.mark)
  state.mark = ''
  state.gap = ''
  for (const place of state.waiting) place.piece = state.pieces.length
  state.waiting = []
}

function append(state: SheetState, text: string, isVerbatim: boolean): void {
  const needsNoSpace = state.pending > 0 || /\s/.test(state.pieces.at(-1)?.at(-1) ?? ' ')
  const shown = needsNoSpace && !isVerbatim ? text.trimStart() : text
  if (!shown) return
  beginText(state)
  state.pieces.push(isVerbatim && state.prefix ? shown.replaceAll('\n', `\n${state.prefix}`) : shown)
}

interface Link {
  readonly href: string
  readonly isName: boolean
  readonly isOwn: boolean
  readonly isFirst: boolean
  readonly isHidden: boolean
  readonly place: Bookmark
  /** Its text with the hidden parts, by which Mastodon shortens long addresses. */
  whole: string
  hid: boolean
}

interface LinkOptions {
  /** A mention at the very beginning that leads here is left out: it is the address on the envelope. */
  readonly isOwnMention?: ((href: string) => boolean) | undefined
  /** The address of a link as it is shown; undefined for one that is not. By default http, https and mailto. */
  readonly findAddress?: ((href: string) => string | undefined) | undefined
}

const maxAddress = 2048

/** Shows where links lead. What `open` and `close` return says whether words were hidden. */
function createLinkWriter(sheet: TextSheet, options: LinkOptions) {
  const findAddress = options.findAddress ?? findKnownAddress
  let link: Link | undefined
  let hasDropped = false

  /** The address decides what a link says: text that pretends to be another one is shown beside it. */
  function close(): boolean {
    if (!link) return false
    const { isOwn, isFirst, place, hid, isHidden } = link
    const isAddress = isSameAddress(link)
    // Many servers mark mentions with no class, or one of their own.
    const isName = link.isName || (isOwn && sheet.since(place).trimStart().startsWith('@'))
    if (isName && isOwn && isFirst) {
      sheet.replaceSince(place, '')
      hasDropped = true
    } else if (!isName && !isHidden) writeAddress(link, isAddress)
    link = undefined
    return hid && !isAddress
  }

  function writeAddress({ href, place, hid }: Link, isAddress: boolean): void {
    const shown = sheet.since(place).trim()
    if (!shown) sheet.append(href)
    else if (!isAddress) sheet.append(` (${href})`)
    else if (hid) sheet.replaceSince(place, href)
  }

  return {
    open(attributes: HtmlAttributes, isHidden: boolean): boolean {
      const had = close()
      const written = attributes.get('href') ?? ''
      const href = written.length > maxAddress ? undefined : findAddress(written.trim())
      if (!href) return had
      const isName = /(?:^|\s)(?:mention|hashtag)(?:\s|$)/.test((attributes.get('class') ?? '').slice(0, maxAddress))
      const isOwn = options.isOwnMention?.(href) === true
      const place = sheet.bookmark()
      link = { href, isName, isOwn, isFirst: sheet.isEmpty(), isHidden, place, whole: '', hid: false }
      return had
    },
    /** True where the text belongs to a link, which judges its hidden parts at its end. */
    take(text: string, isHidden: boolean): boolean {
      if (!link) return false
      if (link.whole.length <= maxAddress) link.whole += text
      if (isHidden) link.hid = true
      return true
    },
    close,
    /** Without what stood between a mention that was dropped and what was said. */
    withoutAddress: (text: string) => (hasDropped ? text.replace(afterAddress, '') : text),
  }
}

function findKnownAddress(href: string): string | undefined {
  return /^(?:https?|mailto):/i.test(href) ? href : undefined
}

function isSameAddress({ whole, href }: Link): boolean {
  const text = whole.trim().replace(/\/$/, '')
  const address = href.replace(/\/$/, '')
  return ['', 'https://', 'http://', 'mailto:'].some(scheme => scheme + text === address)
}

/** What stands between an address and what is said to it. */
export const afterAddress = /^\s*[,:](?=\s|$)\s*|^\s+/
