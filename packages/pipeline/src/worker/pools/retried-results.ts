// Repeats the writes of results until the store is available.
import type { ResultStore } from '../../ports/store/work-store.ts'
import type { PendingWritesDeps } from './pending-writes.ts'
import { PendingWrites } from './pending-writes.ts'

/**
 * Writes results to the store. While the store is unavailable, it keeps the results, and it writes them afterwards. A write throws `Unavailable` only
 * after the shutdown has begun.
 */
export interface RetriedResults extends ResultStore {
  /**
   * Retries all pending writes now. Callers do this before they lease work, because otherwise work with an unwritten result could be leased again.
   * Returns undefined if no write is pending.
   */
  retryAll(): Promise<void> | undefined
}

export function createRetriedResults(store: ResultStore, deps: PendingWritesDeps): RetriedResults {
  const pendingWrites = new PendingWrites(deps)
  function writeOrRetry(write: () => Promise<void>): Promise<void> {
    return write().catch(error => pendingWrites.retryUntilStored(write, error))
  }
  return {
    commit: (...args) => writeOrRetry(() => store.commit(...args)),
    release: (...args) => writeOrRetry(() => store.release(...args)),
    settle: (...args) => writeOrRetry(() => store.settle(...args)),
    expand: (...args) => writeOrRetry(() => store.expand(...args)),
    storeStreamedAnswer: (...args) => writeOrRetry(() => store.storeStreamedAnswer(...args)),
    retryAll: () => pendingWrites.retryAll(),
  }
}
