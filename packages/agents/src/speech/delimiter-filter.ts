// Removes the gateway's own data block from a model's text, and its delimiter wherever it occurs.

/**
 * Removes the data block that a model repeats from its prompt. The delimiter is a secret of the conversation, so nothing else in a text resembles it.
 */
export class DelimiterFilter {
  readonly #delimiter: string
  readonly #withhold: (text: string) => void
  #undecidedText = ''
  #isInside = false

  constructor(delimiter: string, withhold: (text: string) => void) {
    this.#delimiter = delimiter
    this.#withhold = withhold
  }

  /** Returns the text without the block. */
  add(piece: string, isEnd = false): string {
    this.#undecidedText += piece
    let passedText = ''
    for (;;) {
      const index = this.#undecidedText.indexOf(this.#delimiter)
      const nextIndex = index + this.#delimiter.length
      // The character after the name distinguishes the beginning of a block from another occurrence.
      if (index < 0 || (nextIndex === this.#undecidedText.length && !isEnd)) break
      const { length } = /(?:<\/?)?$/.exec(this.#undecidedText.slice(Math.max(0, index - 2), index))?.[0] ?? ''
      const mark = this.#undecidedText.slice(
        index - length,
        nextIndex + (this.#undecidedText[nextIndex] === '>' ? 1 : 0),
      )
      passedText += this.#pass(index - length)
      this.#withhold(mark)
      this.#undecidedText = this.#undecidedText.slice(mark.length)
      this.#isInside = mark.startsWith('<') && !mark.startsWith('</') && mark.endsWith('>')
    }
    return passedText + this.#pass(isEnd ? this.#undecidedText.length : this.#findSafeLength())
  }

  #pass(length: number): string {
    const text = this.#undecidedText.slice(0, length)
    this.#undecidedText = this.#undecidedText.slice(length)
    if (!this.#isInside) return text
    if (text !== '') this.#withhold(text)
    return ''
  }

  /** Finds the length of the text that can be passed on. The last characters may be the beginning of the delimiter. */
  #findSafeLength(): number {
    const { length } = this.#undecidedText
    for (let start = Math.max(0, length - this.#delimiter.length - 2); start < length; start += 1) {
      const tail = this.#undecidedText.slice(start).replace(/^<\/?/, '')
      if (this.#delimiter.startsWith(tail)) return start
    }
    return length
  }
}
