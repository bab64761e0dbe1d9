import type { HtmlAttributes } from '../elements/elements.ts'

interface Bookmark {
  /** Index of the first piece written after it was set; absent until then. */
  piece?: number
}

interface SheetState {
  readonly pieces: string[]
  /** Line ends before the next text. */
  pending: number
  mark: string
  gap: string
  prefix: string
  /** The prefix of the current line. */
  written: string
  /** Bookmarks that the next text sets. */
  waiting: Bookmark[]
}

export type TextSheet = ReturnType<typeof createTextSheet>

/** A text in progress: words, pending line ends, marks. It is kept in pieces, so that long documents cost linear time. */
export function createTextSheet() {
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
    /** A mark before the next text. */
    setMark(next: string) {
      state.mark = next
    },
    /** A gap before the next text, unless a line begins there. */
    setGap(next: string) {
      state.gap = next
    },
    /** A prefix of each line, from the next line end on. */
    setPrefix(next: string) {
      state.prefix = next
    },
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

/** Text as a reader sees it. */
export interface VisibleCharacters {
  readonly text: string
  /** Characters that were taken out. */
  readonly invisible: number
}

/**
 * Characters that show nothing and can carry words only a machine reads: tags (U+E0000), zero-width spaces and joiners of words,
 * fillers, variation selectors of Mongolian, direction overrides. ZWJ and ZWNJ stay: emoji and several scripts need them, and so do the
 * flags of England, Scotland and Wales, made of a black one and tags.
 */
const invisible =
  /(\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{1,6}\u{e007f})|\u034f|\u180e|[\u180b-\u180d]|[\u00ad\u061c\u115f\u1160\u17b4\u17b5\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu
/** Line feed and tab stay. */
const controls = /[^\P{Cc}\n\t]/gu
const isPlain = /^[\x20-\x7e\n\t]*$/

/** Takes out what a human reader would not have seen. */
export function readVisibleCharacters(text: string): VisibleCharacters {
  if (isPlain.test(text)) return { text, invisible: 0 }
  let count = 0
  const visible = text.replace(invisible, (_, flag?: string) => {
    if (flag === undefined) count += 1
    return flag ?? ''
  })
  return { text: visible.replace(controls, ''), invisible: count }
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

export interface LinkOptions {
  /** A mention at the very beginning that leads here is left out: it is the address on the envelope. */
  readonly isOwnMention?: ((href: string) => boolean) | undefined
  /** The address of a link as it is shown; undefined for one that is not. By default http, https and mailto. */
  readonly findAddress?: ((href: string) => string | undefined) | undefined
}

const maxAddress = 2048

/** Shows where links lead. What `open` and `close` return says whether words were hidden. */
export function createLinkWriter(sheet: TextSheet, options: LinkOptions) {
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

/** A list that text stands in. */
export interface OpenList {
  /** The next number; undefined where items are not numbered. */
  number: number | undefined
  /** From 1, for a list in no other. */
  readonly depth: number
}

/** Deeper ones are not indented further. */
const maxListDepth = 16

/** The list inside of an element. */
export function openList(name: string, attributes: HtmlAttributes, outer: OpenList | undefined): OpenList | undefined {
  if (name !== 'ul' && name !== 'ol') return outer
  const depth = Math.min((outer?.depth ?? 0) + 1, maxListDepth)
  return { number: name === 'ol' ? readStart(attributes.get('start')) : undefined, depth }
}

/** What stands before the next item. */
export function nextMark(list: OpenList | undefined): string {
  if (list?.number === undefined) return '- '
  list.number += 1
  return `${list.number - 1}. `
}

function readStart(text: string | undefined): number {
  return text && /^\d{1,6}$/.test(text) ? Number(text) : 1
}
