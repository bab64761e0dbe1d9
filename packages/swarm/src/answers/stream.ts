// Sends the safe text of an answer to the user while the model is still writing.
import type { AnswerRules } from './answer-faults.ts'
import { faultStartPattern, findTextFault, maxFaultChars, mayBeCall } from './answer-faults.ts'

const paragraphBreak = '\n\n'

/** The part of an answer that the user gets while a turn runs. The final answer always includes it. */
export interface AnswerStream {
  /** Begins the text of a model, which has a separate check. */
  begin(rules: AnswerRules): StreamedAnswerCheck
  /** Returns the complete answer, including the text that was sent before. */
  finish(answer: string): string
}

/** Creates the stream of an answer. `onText` gets the text in order. An empty line separates the texts of different models. */
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
      let hasText = false
      check = createStreamedAnswerCheck(rules, text => {
        onText(hasText || precedingAnswer === '' ? text : paragraphBreak + text)
        hasText = true
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
 * Sends the safe part of an answer to `onText`. The first 160 characters wait until they contain no fault. An answer that may be one call is not sent
 * here, and the caller sends it at its end. Later text is sent at once, except where a fault may begin. Nothing is sent after a fault.
 */
export function createStreamedAnswerCheck(rules: AnswerRules, onText: (text: string) => void): StreamedAnswerCheck {
  let shownText = ''
  /** The text that is not sent yet. It is short after the beginning of the answer. */
  let pendingText = ''
  let stage: 'checking' | 'sending' | 'stopped' = 'checking'

  function checkOpening(): void {
    const fault = findTextFault(pendingText, rules)
    const hasFault = fault !== undefined && fault.position < openingChars
    if (hasFault) stage = 'stopped'
    // The pending text may end in the middle of a fault.
    else if (findSafeLength(pendingText) >= openingChars) stage = mayBeCall(pendingText, rules) ? 'stopped' : 'sending'
  }

  function sendSafeText(): void {
    const fault = findTextFault(pendingText, rules)
    const safeText = pendingText.slice(0, fault ? fault.position : findSafeLength(pendingText))
    if (fault) stage = 'stopped'
    shownText += safeText
    pendingText = pendingText.slice(safeText.length)
    if (safeText !== '') onText(safeText)
  }

  return {
    add(piece) {
      if (stage === 'stopped') return
      pendingText += piece
      if (stage === 'checking') checkOpening()
      if (stage === 'sending') sendSafeText()
    },
    get passedText() {
      return shownText
    },
  }
}

/** Returns the length of the text that no fault can begin in any more. */
function findSafeLength(waitingText: string): number {
  const tail = Math.max(0, waitingText.length - maxFaultChars)
  const position = waitingText.slice(tail).search(faultStartPattern)
  return position < 0 ? waitingText.length : tail + position
}
