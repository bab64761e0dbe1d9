import type { AnswerRules } from './marks.ts'
import type { StreamedAnswerCheck } from './streamed-check.ts'
import { createStreamedAnswerCheck } from './streamed-check.ts'

const between = '\n\n'

/** The part of an answer that the user gets while a turn runs. It belongs to the answer, whatever follows. */
export interface AnswerStream {
  /** A model begins to speak. Its text passes a check of its own. */
  begin(rules: AnswerRules): StreamedAnswerCheck
  /** The complete answer, with the text sent before. */
  finish(answer: string): string
}

/** `hear` gets the text in order. An empty line separates earlier models from the one that answers. */
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
