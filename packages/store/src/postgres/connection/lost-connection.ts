// Decides if work runs again after a lost connection.
import { isLineLost } from './store-errors.ts'

/** Counts connections that broke during one transaction or reading. */
interface LostConnections {
  /** Returns true if `error` is a lost connection that wrote nothing, so that another one may be tried. `isEnding` is true after the commit was sent. */
  mayTryAgain(error: unknown, isEnding?: boolean): boolean
}

/**
 * Most retries, and the longest try after which a retry makes sense. The server ends a transaction that is idle for seconds, such as when an agent
 * blocks this thread. A longer try has met a silent server.
 */
const [mostLosses, longestTryMs] = [1, 30_000]

export function createLostConnections(): LostConnections {
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
