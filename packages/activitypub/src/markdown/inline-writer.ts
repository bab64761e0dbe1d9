/** HTML as it is being written, with marks that may yet turn out to be the beginning of an element. */
export interface InlineWriter {
  /** `plain` is what the piece becomes inside of a link, where no other link may be. */
  push(html: string, plain?: string): void
  /** Writes `text` for now, to be replaced when its end is found. */
  openMark(mark: string, text: string): void
  /** The place of the innermost open mark of this kind; marks opened inside of it stay text. Undefined without one. */
  closeMark(mark: string): number | undefined
  replaceAt(place: number, html: string): void
  /** Turns links written since `place` into their text. */
  unlinkFrom(place: number): void
  toString(): string
}

interface Piece {
  readonly html: string
  readonly plain?: string | undefined
}

export function createInlineWriter(): InlineWriter {
  const pieces: Piece[] = []
  const openers: { readonly mark: string; readonly place: number }[] = []
  /** How many of a kind are open, so that a search that would find nothing is not begun. */
  const counts = new Map<string, number>()
  const count = (mark: string, change: number) => counts.set(mark, (counts.get(mark) ?? 0) + change)
  return {
    push: (html, plain) => void pieces.push({ html, plain }),
    openMark(mark, text) {
      count(mark, 1)
      openers.push({ mark, place: pieces.length })
      pieces.push({ html: text })
    },
    closeMark(mark) {
      if (!counts.get(mark)) return undefined
      for (let opener = openers.pop(); opener; opener = openers.pop()) {
        count(opener.mark, -1)
        if (opener.mark === mark) return opener.place
      }
      return undefined
    },
    replaceAt(place, html) {
      pieces[place] = { html }
    },
    unlinkFrom(place) {
      for (let at = place; at < pieces.length; at += 1) {
        const plain = pieces[at]?.plain
        if (plain !== undefined) pieces[at] = { html: plain }
      }
    },
    toString: () => pieces.map(({ html }) => html).join(''),
  }
}
