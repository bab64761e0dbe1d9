import type { AnswerRules } from './marks.ts'
import type { StreamedAnswerCheck } from './streamed-check.ts'
import { createStreamedAnswerCheck } from './streamed-check.ts'

const between = '\n\n'

/** What the user hears of a turn while it is made. What was heard is part of the answer, whatever follows. */
export interface AnswerStream {
  /** A model begins to speak: its words go through a gate of their own. */
  begin(rules: AnswerRules): StreamedAnswerCheck
  /** Everything: what was heard, and the end of the turn. */
  finish(answer: string): string
}

/** `hear` is told the words, in order; models that spoke before the one that answers are parted from it by an empty line. */
export function createAnswerStream(hear: (words: string) => void): AnswerStream {
  let before = ''
  let semaphore: StreamedAnswerCheck | undefined

  function close(): void {
    if (semaphore && semaphore.heard !== '') before += before === '' ? semaphore.heard : between + semaphore.heard
    semaphore = undefined
  }

  return {
    begin(rules) {
      close()
      const spoken = before
      let isBegun = false
      semaphore = createStreamedAnswerCheck(rules, words => {
        hear(isBegun || spoken === '' ? words : between + words)
        isBegun = true
      })
      return semaphore
    },
    finish(answer) {
      const isGoingOn = semaphore !== undefined && semaphore.heard !== '' && answer.startsWith(semaphore.heard)
      if (!isGoingOn) close()
      return [before, answer].filter(Boolean).join(between)
    },
  }
}
