// Builds plain text with pending line ends, marks and line prefixes.

/** A position in a text, at which the next text begins. */
export interface Bookmark {
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
  waitingBookmarks: Bookmark[]
}

export type TextSheet = ReturnType<typeof createTextSheet>

/** Creates an unfinished text with pending line ends and marks. The text consists of pieces, so that long documents take linear time. */
export function createTextSheet() {
  const state: SheetState = {
    pieces: [],
    pendingBreaks: 0,
    mark: '',
    gap: '',
    prefix: '',
    linePrefix: '',
    waitingBookmarks: [],
  }
  return {
    /** Adds text. `isVerbatim` preserves its spaces and lines. */
    append: (text: string, isVerbatim = false) => append(state, text, isVerbatim),
    /** Begins the next text after at least this many line ends. */
    breakLines(count: number) {
      if (state.pieces.length > 0) state.pendingBreaks = Math.max(state.pendingBreaks, count)
    },
    /** Adds a line end. Two line ends leave one line empty, and further line ends have no effect. */
    addBreak() {
      if (state.pieces.length > 0) state.pendingBreaks = Math.min(state.pendingBreaks + 1, 2)
    },
    next: state as Pick<SheetState, 'mark' | 'gap' | 'prefix'>,
    isEmpty: () => state.pieces.length === 0,
    /** Returns a bookmark for the position at which the next text begins. */
    bookmark() {
      const textStart: Bookmark = {}
      state.waitingBookmarks.push(textStart)
      return textStart
    },
    precedingChar: ({ piece }: Bookmark) => (piece === undefined ? '' : (state.pieces[piece - 1]?.at(-1) ?? '')),
    /** Returns the text written since a bookmark. */
    textSince: ({ piece }: Bookmark) => (piece === undefined ? '' : state.pieces.slice(piece).join('')),
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
  const lastPiece = state.pieces.pop()
  if (lastPiece === undefined) return
  // An empty line between two quoted lines is quoted too.
  const separator = state.prefix.startsWith(state.linePrefix) ? state.linePrefix : state.prefix
  state.pieces.push(lastPiece.trimEnd(), `\n${separator.trimEnd()}`.repeat(state.pendingBreaks - 1), '\n')
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
  for (const textStart of state.waitingBookmarks) textStart.piece = state.pieces.length
  state.waitingBookmarks = []
}

function append(state: SheetState, text: string, isVerbatim: boolean): void {
  const needsNoSpace = state.pendingBreaks > 0 || /\s/.test(state.pieces.at(-1)?.at(-1) ?? ' ')
  const visibleText = needsNoSpace && !isVerbatim ? text.trimStart() : text
  if (!visibleText) return
  beginText(state)
  state.pieces.push(isVerbatim && state.prefix ? visibleText.replaceAll('\n', `\n${state.prefix}`) : visibleText)
}
