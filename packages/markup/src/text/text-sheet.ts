/** Text as it is being written: words, pending line ends, marks. In pieces, so that long documents cost linear time. */
export interface TextSheet {
  /** Adds text; `isVerbatim` keeps its spaces and lines. */
  append(text: string, isVerbatim?: boolean): void
  /** The next text begins after at least this many line ends. */
  breakLines(count: number): void
  /** One line end more; two leave a line empty, further ones no more than that. */
  addBreak(): void
  /** Stands before the next text. */
  setMark(mark: string): void
  /** Stands before the next text, unless a line begins there. */
  setGap(gap: string): void
  /** Stands at the beginning of each line from the next line end on. */
  setPrefix(prefix: string): void
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
  let gap = ''
  let prefix = ''
  let written = ''
  let waiting: Bookmark[] = []

  function endLine(): void {
    while (pieces.length > 0 && pieces.at(-1)?.trim() === '') pieces.pop()
    const last = pieces.pop()
    if (last === undefined) return
    // A line between two quoted ones is quoted.
    const between = prefix.startsWith(written) ? written : prefix
    pieces.push(last.trimEnd(), `\n${between.trimEnd()}`.repeat(pending - 1), '\n')
  }

  function beginLine(): void {
    if (pending > 0) endLine()
    pending = 0
    if (prefix) pieces.push(prefix)
    written = prefix
  }

  function beginText(): void {
    if (pending > 0 || pieces.length === 0) beginLine()
    else if (gap && !/\s$/.test(pieces.at(-1) ?? '')) pieces.push(gap)
    if (mark) pieces.push(mark)
    mark = ''
    gap = ''
    for (const place of waiting) place.piece = pieces.length
    waiting = []
  }

  function append(text: string, isVerbatim = false): void {
    const needsNoSpace = pending > 0 || /\s/.test(pieces.at(-1)?.at(-1) ?? ' ')
    const shown = needsNoSpace && !isVerbatim ? text.trimStart() : text
    if (!shown) return
    beginText()
    pieces.push(isVerbatim && prefix ? shown.replaceAll('\n', `\n${prefix}`) : shown)
  }

  return {
    append,
    breakLines(count) {
      if (pieces.length > 0) pending = Math.max(pending, count)
    },
    addBreak() {
      if (pieces.length > 0) pending = Math.min(pending + 1, 2)
    },
    setMark(next) {
      mark = next
    },
    setGap(next) {
      gap = next
    },
    setPrefix(next) {
      prefix = next
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
