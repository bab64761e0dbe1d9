/** A text in progress: words, pending line ends, marks. It is kept in pieces, so that long documents cost linear time. */
export interface TextSheet {
  /** Adds text; `isVerbatim` keeps its spaces and lines. */
  append(text: string, isVerbatim?: boolean): void
  /** The next text begins after at least this many line ends. */
  breakLines(count: number): void
  /** Adds a line end; two leave a line empty, and further ones have no effect. */
  addBreak(): void
  /** A mark before the next text. */
  setMark(mark: string): void
  /** A gap before the next text, unless a line begins there. */
  setGap(gap: string): void
  /** A prefix of each line, from the next line end on. */
  setPrefix(prefix: string): void
  isEmpty(): boolean
  /** A position to return to: the next text begins there. */
  bookmark(): Bookmark
  /** The text written since. */
  since(place: Bookmark): string
  /** Removes the text written since, and puts `text` there. */
  replaceSince(place: Bookmark, text: string): void
  toString(): string
}

export interface Bookmark {
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

export function createTextSheet(): TextSheet {
  const state: SheetState = { pieces: [], pending: 0, mark: '', gap: '', prefix: '', written: '', waiting: [] }
  return {
    append: (text, isVerbatim = false) => append(state, text, isVerbatim),
    breakLines(count) {
      if (state.pieces.length > 0) state.pending = Math.max(state.pending, count)
    },
    addBreak() {
      if (state.pieces.length > 0) state.pending = Math.min(state.pending + 1, 2)
    },
    setMark(next) {
      state.mark = next
    },
    setGap(next) {
      state.gap = next
    },
    setPrefix(next) {
      state.prefix = next
    },
    isEmpty: () => state.pieces.length === 0,
    bookmark() {
      const place: Bookmark = {}
      state.waiting.push(place)
      return place
    },
    since: ({ piece }) => (piece === undefined ? '' : state.pieces.slice(piece).join('')),
    replaceSince({ piece }, text) {
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
