// Bounds the wait for another program that holds the file.
import { primaryCodeOf } from './sqlite-errors.ts'

/** The time for which writes wait while another program holds the file, and the time between two tries, ms. */
const maxLockWaitMs = 5_000
export const lockRetryMs = 20

interface LockWait {
  /** Returns true if another program holds the file, but not for long yet. */
  shouldWait(error: unknown): boolean
  /** Ends the wait, because the file was free. */
  end(): void
}

/**
 * Creates the patience with other programs. Writes that arrive while the file has been held for long fail at once. `now` is a monotonic clock, ms.
 */
export function createLockWait(now = () => performance.now()): LockWait {
  let lockedSince: number | undefined
  let lastAttemptAt = 0
  return {
    shouldWait(error) {
      if (!isBusy(error)) return false
      // After a long time without tries this is another lock.
      if (lockedSince === undefined || now() - lastAttemptAt > maxLockWaitMs) lockedSince = now()
      lastAttemptAt = now()
      return now() - lockedSince < maxLockWaitMs
    },
    end() {
      lockedSince = undefined
    },
  }
}

/** Returns true for SQLite's BUSY, even as the cause of an error of the store. */
function isBusy(error: unknown): boolean {
  const { cause } = error as { readonly cause?: unknown }
  return primaryCodeOf(cause ?? error) === 5
}
