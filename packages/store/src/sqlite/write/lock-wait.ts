// Limits the wait for another program that has locked the file.
import { primaryCodeOf } from './sqlite-errors.ts'

/** The time for which writes wait while another program has locked the file, ms. */
const maxLockWaitMs = 5_000
/** The time between two attempts to write, ms. */
export const lockRetryMs = 20

interface LockWait {
  /** Returns true if another program has locked the file for less than the maximum wait. */
  shouldWait(error: unknown): boolean
  /** Ends the wait, because the file was not locked any more. */
  end(): void
}

/**
 * Creates the limit of the wait. Writes that arrive after the file was locked for longer than this limit fail at once. `now` is a monotonic clock, ms.
 */
export function createLockWait(now = () => performance.now()): LockWait {
  let lockedSince: number | undefined
  let lastAttemptAt = 0
  return {
    shouldWait(error) {
      if (!isBusy(error)) return false
      // After a long time without attempts, this is another lock.
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
