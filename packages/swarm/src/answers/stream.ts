// Sends the safe text of an answer to the user while the model is still writing.
import type { AnswerRules } from './marks.ts'
import { findMark, isOpenBeginning, markStarts, maxMarkChars } from './marks.ts'

const paragraphBreak = '\n\n'

/** The part of an answer that the user gets while a turn runs. The final answer always includes it. */
export interface AnswerStream {
  /** Begins the text of a model, which gets its own check. */
  begin(rules: AnswerRules): StreamedAnswerCheck
  /** Returns the complete answer, including the text that was sent before. */
  finish(answer: string): string
}

/** Creates the stream of an answer; `onText` gets the text in order. An empty line separates earlier models from the one that answers. */
export function createAnswerStream(onText: (text: string) => void): AnswerStream {
  let precedingText = ''
  let check: StreamedAnswerCheck | undefined

  function close(): void {
    if (check && check.passedText !== '')
      precedingText += precedingText === '' ? check.passedText : paragraphBreak + check.passedText
    check = undefined
  }

  return {
    begin(rules) {
      close()
      const precedingAnswer = precedingText
      let isBegun = false
      check = createStreamedAnswerCheck(rules, text => {
        onText(isBegun || precedingAnswer === '' ? text : paragraphBreak + text)
        isBegun = true
      })
      return check
    },
    finish(answer) {
      const isContinued = check !== undefined && check.passedText !== '' && answer.startsWith(check.passedText)
      if (!isContinued) close()
      return [precedingText, answer].filter(Boolean).join(paragraphBreak)
    },
  }
}

/** The number of characters of an answer that are checked before the user gets any of it. */
const openingChars = 160

/** The check of a model's text before it reaches the user. */
interface StreamedAnswerCheck {
  add(piece: string): void
  /** The text passed on so far, from the beginning. */
  readonly passedText: string
}

/**
 * Passes on the safe part of an answer. The first 160 characters are held back until no mark can begin in them. An answer that may be one call is
 * held back to its end, and the caller sends it. Later text passes at once, except where a mark may begin. After a mark nothing passes.
 */
export function createStreamedAnswerCheck(rules: AnswerRules, onText: (text: string) => void): StreamedAnswerCheck {
  let shownText = ''
  /** The text that is held back. It is short after the beginning of the answer. */
  let waitingText = ''
  let stage: 'opening' | 'open' | 'shut' = 'opening'

  function begin(): void {
    const mark = findMark(waitingText, rules)
    const isUnsound = mark !== undefined && mark.at < openingChars
    if (isUnsound) stage = 'shut'
    // A mark may have begun here without having ended.
    else if (findSafeLength(waitingText) >= openingChars) stage = isOpenBeginning(waitingText, rules) ? 'shut' : 'open'
  }

  function pass(): void {
    const mark = findMark(waitingText, rules)
    const safeText = waitingText.slice(0, mark ? mark.at : findSafeLength(waitingText))
    if (mark) stage = 'shut'
    shownText += safeText
    waitingText = waitingText.slice(safeText.length)
    if (safeText !== '') onText(safeText)
  }

  return {
    add(piece) {
      if (stage === 'shut') return
      waitingText += piece
      if (stage === 'opening') begin()
      if (stage === 'open') pass()
    },
    get passedText() {
      return shownText
    },
  }
}

/** Returns the length of the text that can no longer be the beginning of a mark. */
function findSafeLength(waitingText: string): number {
  const tail = Math.max(0, waitingText.length - maxMarkChars)
  const position = waitingText.slice(tail).search(markStarts)
  return position < 0 ? waitingText.length : tail + position
}
