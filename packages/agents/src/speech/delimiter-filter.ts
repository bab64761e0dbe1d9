// Removes the gateway's own data block from a model's text, and its delimiter wherever it occurs.

/**
 * Removes the data block that a model repeats from its prompt. The delimiter is a secret of the conversation, so nothing else in a text resembles it.
 */
export class DelimiterFilter {
  readonly #name: string
  readonly #withhold: (text: string) => void
  #rest = ''
  #isInside = false

  constructor(name: string, withhold: (text: string) => void) {
    this.#name = name
    this.#withhold = withhold
  }

  /** Returns the text without the block. */
  add(piece: string, isEnd = false): string {
    this.#rest += piece
    let passedText = ''
    for (;;) {
      const index = this.#rest.indexOf(this.#name)
      const next = index + this.#name.length
      // The character after the name distinguishes the beginning of a block from another occurrence.
      if (index < 0 || (next === this.#rest.length && !isEnd)) break
      const { length } = /(?:<\/?)?$/.exec(this.#rest.slice(Math.max(0, index - 2), index))?.[0] ?? ''
      const mark = this.#rest.slice(index - length, next + (this.#rest[next] === '>' ? 1 : 0))
      passedText += this.#pass(index - length)
      this.#withhold(mark)
      this.#rest = this.#rest.slice(mark.length)
      this.#isInside = mark.startsWith('<') && !mark.startsWith('</') && mark.endsWith('>')
    }
    return passedText + this.#pass(isEnd ? this.#rest.length : this.#findSafeLength())
  }

  #pass(length: number): string {
    const text = this.#rest.slice(0, length)
    this.#rest = this.#rest.slice(length)
    if (!this.#isInside) return text
    if (text !== '') this.#withhold(text)
    return ''
  }

  /** Finds the length of the text that can be passed on. The last characters may be the beginning of the delimiter. */
  #findSafeLength(): number {
    const { length } = this.#rest
    for (let from = Math.max(0, length - this.#name.length - 2); from < length; from += 1) {
      const tail = this.#rest.slice(from).replace(/^<\/?/, '')
      if (this.#name.startsWith(tail)) return from
    }
    return length
  }
}
