import type { AnswerRules } from './marks.ts'
import { findMark, isOpenBeginning, longestMark, markStarts } from './marks.ts'

/** Characters of an answer that are looked at before any of it is heard. */
const opening = 160

/** Words of a model on their way to the user. */
export interface StreamedAnswerCheck {
  add(piece: string): void
  /** What was passed on; the beginning of what was added. */
  readonly heard: string
}

/**
 * Passes on what of an answer is plainly sound. Nothing is heard of its first 160 characters until no mark can begin in them, and nothing at all of
 * one that may be a call as a whole before it has ended (then the caller tells it). From there words go through as they come; where a mark
 * of a call may begin, they wait until it is plain that it is none. At a mark the gate is shut for good.
 */
export function createStreamedAnswerCheck(rules: AnswerRules, tell: (words: string) => void): StreamedAnswerCheck {
  let heard = ''
  /** What has come and is not passed on: short, once the gate is open. */
  let rest = ''
  let stage: 'opening' | 'open' | 'shut' = 'opening'

  function begin(): void {
    const mark = findMark(rest, rules)
    const isUnsound = mark !== undefined && mark.at < opening
    if (isUnsound) stage = 'shut'
    // A mark may have begun in it and not be there yet.
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

/** How much of it can be no beginning of a mark any more. */
function findSafeLength(rest: string): number {
  const tail = Math.max(0, rest.length - longestMark)
  const at = rest.slice(tail).search(markStarts)
  return at < 0 ? rest.length : tail + at
}
