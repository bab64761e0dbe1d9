import { primaryCodeOf } from './sqlite-errors.ts'

/** How long writes wait for another program that holds the file, and how often it is looked at, ms. */
export const [lockPatienceMs, lockRetryMs] = [5_000, 20]

interface LockPatience {
  /** Whether to try again what has failed: another program holds the file, and not for long yet. */
  isWorthWaiting(error: unknown): boolean
  /** The file was free. */
  end(): void
}

/** Whoever comes while the file has been held for long waits no more: it is told to come again. `now`: monotonic, ms. */
export function createLockPatience(now = () => performance.now()): LockPatience {
  let heldSince: number | undefined
  let lastTry = 0
  return {
    isWorthWaiting(error) {
      if (!isBusy(error)) return false
      // Nobody has looked for long: that was another lock.
      if (heldSince === undefined || now() - lastTry > lockPatienceMs) heldSince = now()
      lastTry = now()
      return now() - heldSince < lockPatienceMs
    },
    end() {
      heldSince = undefined
    },
  }
}

/** SQLite's BUSY, as it is or as the store tells it. */
function isBusy(error: unknown): boolean {
  const { cause } = error as { readonly cause?: unknown }
  return primaryCodeOf(cause ?? error) === 5
}
