/** Text as it is being written: words, pending line breaks, marks. In pieces, so that long posts cost linear time. */
export interface TextSheet {
  /** Adds text; `isVerbatim` keeps its spaces. */
  append(text: string, isVerbatim?: boolean): void
  /** The next text begins after at least this many line ends. */
  breakLines(count: number): void
  /** One line end more; two leave a line empty, further ones no more than that. */
  addBreak(): void
  /** Stands before the next text. */
  setMark(mark: string): void
  isEmpty(): boolean
  /** A place to come back to: the next text begins there. */
  bookmark(): Bookmark
  /** What was written since. */
  since(place: Bookmark): string
  /** Takes back what was written since, and puts `text` there. */
  replaceSince(place: Bookmark, text: string): void
  toString(): string
}

export interface Bookmark {
  /** Index of the first piece written after it was set; absent until then. */
  piece?: number
}

export function createTextSheet(): TextSheet {
  const pieces: string[] = []
  let pending = 0
  let mark = ''
  let waiting: Bookmark[] = []

  function endLine(): void {
    while (pieces.length > 0 && pieces.at(-1)?.trim() === '') pieces.pop()
    const last = pieces.pop()
    if (last !== undefined) pieces.push(last.trimEnd(), '\n'.repeat(pending))
  }

  function write(text: string): void {
    if (pending > 0) endLine()
    pending = 0
    if (mark) pieces.push(mark)
    mark = ''
    for (const place of waiting) place.piece = pieces.length
    waiting = []
    pieces.push(text)
  }

  return {
    append(text, isVerbatim = false) {
      const needsNoSpace = pending > 0 || /\s/.test(pieces.at(-1)?.at(-1) ?? ' ')
      const shown = needsNoSpace && !isVerbatim ? text.trimStart() : text
      if (shown) write(shown)
    },
    breakLines(count) {
      if (pieces.length > 0) pending = Math.max(pending, count)
    },
    addBreak() {
      if (pieces.length > 0) pending = Math.min(pending + 1, 2)
    },
    setMark(next) {
      mark = next
    },
    isEmpty: () => pieces.length === 0,
    bookmark() {
      const place: Bookmark = {}
      waiting.push(place)
      return place
    },
    since: ({ piece }) => (piece === undefined ? '' : pieces.slice(piece).join('')),
    replaceSince({ piece }, text) {
      if (piece === undefined) return
      pieces.length = Math.min(pieces.length, piece)
      if (text) pieces.push(text)
    },
    toString: () => pieces.join('').trim(),
  }
}
