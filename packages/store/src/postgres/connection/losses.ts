import { isLineLost } from './store-errors.ts'

/** Connections that broke under one transaction, or one reading. */
interface Losses {
  /** Whether `error` is such a break that has left nothing, and another connection may be there. `isEnding`: it had asked for the commit. */
  mayTryAgain(error: unknown, isEnding?: boolean): boolean
}

/**
 * The server ends a transaction that waits for us for seconds, as when an agent keeps this thread busy. What took longer than `longestTryMs` has met
 * a server that is silent.
 */
const [mostLosses, longestTryMs] = [1, 30_000]

export function createLosses(): Losses {
  const begunAt = performance.now()
  let count = 0
  return {
    mayTryAgain(error, isEnding = false) {
      if (!isLineLost(error, isEnding)) return false
      count += 1
      return count <= mostLosses && performance.now() - begunAt < longestTryMs
    },
  }
}
