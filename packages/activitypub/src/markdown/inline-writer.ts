/** HTML as it is being written, with marks that may yet turn out to be the beginning of an element. */
export interface InlineWriter {
  /** `plain` is what the piece becomes inside of a link, where no other link may be. */
  push(html: string, plain?: string): void
  /** Writes `text` for now, to be replaced when its end is found. */
  openMark(mark: string, text: string): void
  /** The place of the innermost open mark of this kind; marks opened inside of it stay text. Undefined without one. */
  closeMark(mark: string): number | undefined
  /** `plain` as for `push`; a link begins only after `unlinkFrom` its place. */
  replaceAt(place: number, html: string, plain?: string): void
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
  /** Places of the pieces that are links, in order: each is unlinked once, however deep the brackets are. */
  const links: number[] = []
  const openers: { readonly mark: string; readonly place: number }[] = []
  /** How many of a kind are open, so that a search that would find nothing is not begun. */
  const counts = new Map<string, number>()
  const count = (mark: string, change: number) => counts.set(mark, (counts.get(mark) ?? 0) + change)
  return {
    push(html, plain) {
      if (plain !== undefined) links.push(pieces.length)
      pieces.push({ html, plain })
    },
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
    replaceAt(place, html, plain) {
      if (plain !== undefined) links.push(place)
      pieces[place] = { html, plain }
    },
    unlinkFrom(place) {
      while ((links.at(-1) ?? -1) >= place) {
        const at = links.pop() as number
        pieces[at] = { html: pieces[at]?.plain ?? '' }
      }
    },
    toString: () => pieces.map(({ html }) => html).join(''),
  }
}
