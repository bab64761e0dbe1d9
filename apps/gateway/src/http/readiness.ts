import type { Log, Platform } from '@postern/core'
import { createSingleFlight } from '@postern/limits'

interface ReadinessDeps extends Pick<Platform, 'sleep'> {
  /** Resolves once something could be written. */
  checkWrites(): Promise<void>
  readonly log: Log
}

interface Readiness {
  /** Work begins. */
  open(): void
  /** Work is at its end. */
  close(): void
  isReady(): Promise<boolean>
}

/** What takes longer is no database that one can work with. */
const patienceMs = 3_000

/** Whether there is somebody at work, and a database that takes writes: looked at for as many as ask at a time, once. */
export function createReadiness({ checkWrites, sleep, log }: ReadinessDeps): Readiness {
  let isOpen = false
  let wasReady = true
  const share = createSingleFlight<boolean>()
  /** Why not, the last time. */
  let reason: unknown

  function look(): Promise<boolean> {
    return checkWrites().then(
      () => true,
      error => {
        reason = error
        return false
      },
    )
  }

  async function lookInTime(): Promise<boolean> {
    const over = new AbortController()
    const isLate = sleep(patienceMs, over.signal).then(
      () => false,
      () => false,
    )
    const isReady = await Promise.race([share('', look), isLate])
    over.abort()
    if (isReady !== wasReady) tell(isReady)
    wasReady = isReady
    return isReady
  }

  function tell(isReady: boolean): void {
    if (isReady) log.warn({}, 'ready again')
    else log.warn({ err: reason }, 'not ready: the database takes no writes now')
    reason = undefined
  }

  return {
    open() {
      isOpen = true
    },
    close() {
      isOpen = false
    },
    isReady: async () => isOpen && lookInTime(),
  }
}
