// Decides if work runs again after a lost connection.
import { isConnectionLost } from './store-errors.ts'

/** Counts connections that broke during one transaction or reading. */
interface LostConnections {
  /** Returns true if `error` is a lost connection that wrote nothing, so that another one may be tried. `isEnding` is true after the commit was sent. */
  mayRetry(error: unknown, isEnding?: boolean): boolean
}

/**
 * The maximum number of retries, and the longest attempt after which a retry makes sense. The server ends a transaction that is idle for seconds, such as when an agent blocks the event loop. A longer attempt has met a silent server.
 */
const [maxLosses, maxAttemptMs] = [1, 30_000]

export function createLostConnections(): LostConnections {
  const startedAt = performance.now()
  let count = 0
  return {
    mayRetry(error, isEnding = false) {
      if (!isConnectionLost(error, isEnding)) return false
      count += 1
      return count <= maxLosses && performance.now() - startedAt < maxAttemptMs
    },
  }
}
