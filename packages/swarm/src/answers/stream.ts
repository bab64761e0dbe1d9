import type { AnswerRules } from './marks.ts'
import { findMark, isOpenBeginning, longestMark, markStarts } from './marks.ts'

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

/** Characters of an answer that are checked before the user gets any of it. */
const opening = 160

/** Text of a model on its way to the user. */
interface StreamedAnswerCheck {
  add(piece: string): void
  /** The text passed on, from the beginning. */
  readonly heard: string
}

/**
 * Passes on the safe part of an answer. The first 160 characters wait until no mark can begin in them. An answer that may be one call waits
 * for its end, and the caller sends it. Later text passes at once, except where a mark may begin. After a mark nothing passes any more.
 */
export function createStreamedAnswerCheck(rules: AnswerRules, tell: (words: string) => void): StreamedAnswerCheck {
  let heard = ''
  /** Text that waits. It is short after the first characters. */
  let rest = ''
  let stage: 'opening' | 'open' | 'shut' = 'opening'

  function begin(): void {
    const mark = findMark(rest, rules)
    const isUnsound = mark !== undefined && mark.at < opening
    if (isUnsound) stage = 'shut'
    // A mark may have begun here without its end.
    else if (findSafeLength(rest) >= opening) stage = isOpenBeginning(rest, rules) ? 'shut' : 'open'
  }

  function pass(): void {
    const mark = findMark(rest, rules)
    const words = rest.slice(0, mark ? mark.at : findSafeLength(rest))
    if (mark) stage = 'shut'
    heard += words
    rest = rest.slice(words.length)
    if (words !== '') tell(words)
  }

  return {
    add(piece) {
      if (stage === 'shut') return
      rest += piece
      if (stage === 'opening') begin()
      if (stage === 'open') pass()
    },
    get heard() {
      return heard
    },
  }
}

/** How much of it cannot be the beginning of a mark any more. */
function findSafeLength(rest: string): number {
  const tail = Math.max(0, rest.length - longestMark)
  const at = rest.slice(tail).search(markStarts)
  return at < 0 ? rest.length : tail + at
}
