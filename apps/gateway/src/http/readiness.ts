// Checks whether the gateway is ready for messages: it works, and its database accepts writes.

import { createSingleFlight } from '@postern/limits'
import type { Log, System } from '@postern/message'

interface ReadinessDeps extends Pick<System, 'sleep'> {
  /** Resolves once the store has accepted a write. */
  checkWork(): Promise<void>
  readonly log: Log
}

interface Readiness {
  /** Records that work begins. */
  open(): void
  /** Records that work ends. */
  close(): void
  isReady(): Promise<boolean>
}

/** The longest wait for the database, ms. A database that answers later is not usable. */
const maxWaitMs = 3_000

/** Creates the check of readiness. The gateway is ready while work continues and the database accepts writes. Concurrent callers share one check. */
export function createReadiness({ checkWork, sleep, log }: ReadinessDeps): Readiness {
  let isOpen = false
  let wasReady = true
  const checkOnceAtATime = createSingleFlight<boolean>()
  /** The cause of the last failed check. */
  let failure: unknown

  function runCheck(): Promise<boolean> {
    return checkWork().then(
      () => true,
      error => {
        failure = error
        return false
      },
    )
  }

  async function checkInTime(): Promise<boolean> {
    const waitEnd = new AbortController()
    const timeout = sleep(maxWaitMs, waitEnd.signal).then(
      () => false,
      () => false,
    )
    const isReady = await Promise.race([checkOnceAtATime('', runCheck), timeout])
    waitEnd.abort()
    if (isReady !== wasReady) logChange(isReady)
    wasReady = isReady
    return isReady
  }

  function logChange(isReady: boolean): void {
    if (isReady) log.warn({}, 'ready again')
    else log.warn({ err: failure }, 'not ready: the database takes no writes, or does not answer, at the moment')
    failure = undefined
  }

  return {
    open() {
      isOpen = true
    },
    close() {
      isOpen = false
    },
    isReady: async () => isOpen && checkInTime(),
  }
}
