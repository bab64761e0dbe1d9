// Finds the end of a thought that may contain other thoughts, or mention the marks of one.
import { ThoughtScanner } from './text-marks.ts'

/** A text that was read: the part that belongs to the thought, and the part after the thought, once it has ended. */
interface ThoughtText {
  readonly inside: string
  readonly after?: string
}

/** Matches text that continues the sentence before it. */
const sentenceContinuationPattern = /^\s*$|^[^\S\n]*[\p{Ll}\p{N}.,;:!?)\]]/u

/**
 * Reads a thought whose opening mark has been read. Each opening inside needs an end of its own. A mention of a mark counts as none, unless the text
 * ends without another end: the last one that was found must then have been the end of the thought.
 */
export class OpenThought {
  readonly #scanner: ThoughtScanner
  #depth = 0
  /** The last mark that may have been the end of the thought. */
  #possibleEnd: { readonly isBalanced: boolean } | undefined
  /** The text since then. */
  #textAfter = ''

  /** `pair` matches the marks that open and end such a thought. */
  constructor(pair: RegExp) {
    this.#scanner = new ThoughtScanner(pair)
  }

  add(text: string): ThoughtText {
    this.#scanner.add(text)
    const readText = this.#scan(false)
    if (readText.after !== undefined) return readText
    const scannedText = this.#scanner.takeScanned()
    if (!this.#possibleEnd) return { inside: readText.inside + scannedText }
    this.#textAfter += scannedText
    return readText
  }

  /** Ends the text. `isCutOff` is true if the model was stopped in the middle. */
  end(isCutOff: boolean): ThoughtText {
    const readText = this.#scan(true)
    if (readText.after !== undefined) return readText
    const remainingText = this.#takeTo()
    const isOver = this.#possibleEnd?.isBalanced
      ? true
      : this.#possibleEnd && !sentenceContinuationPattern.test(remainingText)
    return isOver && !isCutOff
      ? { inside: readText.inside, after: remainingText }
      : { inside: readText.inside + remainingText }
  }

  #scan(hasEnded: boolean): ThoughtText {
    let inside = ''
    for (let mark = this.#scanner.next(hasEnded); mark; mark = this.#scanner.next(hasEnded)) {
      const { isOpening, isMention, end } = mark
      if (isOpening) {
        if (!isMention) this.#depth += 1
        continue
      }
      inside += this.#takeTo(end)
      if (!isMention && this.#depth === 0) return { inside, after: this.#scanner.take() }
      this.#possibleEnd = { isBalanced: this.#depth === 0 }
      if (!isMention) this.#depth -= 1
    }
    return { inside }
  }

  #takeTo(end?: number): string {
    const text = this.#textAfter + this.#scanner.take(end)
    this.#textAfter = ''
    return text
  }
}
