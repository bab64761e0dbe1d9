// Decides whether a transaction or a query runs again after its connection was lost.
import { isConnectionLost } from './store-errors.ts'

/** Counts the connections that were lost during one transaction or query. */
interface LostConnections {
  /** Returns true if `error` means that the connection was lost before anything was written, so that another attempt is safe. `isEnding` is true if the commit was sent already. */
  mayRetry(error: unknown, isEnding?: boolean): boolean
}

/**
 * The maximum number of retries, and the duration of an attempt after which a retry is useless. The server ends a transaction that is idle for
 * seconds, for example while an agent blocks the event loop. If an attempt took longer, the server did not respond.
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
