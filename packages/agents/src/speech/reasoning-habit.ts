// Remembers whether the text of a model begins inside a thought, so that its stream may be passed on.

/** The beginnings of a model's text: `auto` learns it from whole answers, `first` begins with a thought, `none` never does so without a mark. */
export const reasoningStarts = ['auto', 'first', 'none'] as const
type ReasoningStart = (typeof reasoningStarts)[number]

/**
 * Remembers the habit of one model. A closing tag of a thought without its opening tag appears only when the thought is over, and text that was
 * passed on cannot be recalled. Therefore the text waits for the closing tag or the end as long as it may begin inside a thought. With `auto` this
 * lasts until one whole answer has shown that it does not.
 */
export class ReasoningHabit {
  #state: 'unknown' | 'inside' | 'plain'
  readonly #learns: boolean

  constructor(reasoningStart: ReasoningStart = 'auto') {
    this.#state = { auto: 'unknown', first: 'inside', none: 'plain' }[reasoningStart] as 'unknown' | 'inside' | 'plain'
    this.#learns = reasoningStart === 'auto'
  }

  get mayBeginInside(): boolean {
    return this.#state !== 'plain'
  }

  get beginsInside(): boolean {
    return this.#state === 'inside'
  }

  /** Learns from an answer where the model begins. A model that has begun inside a thought once may do so again. */
  learn(startsInside: boolean): void {
    if (!this.#learns || this.#state === 'inside') return
    this.#state = startsInside ? 'inside' : 'plain'
  }
}
