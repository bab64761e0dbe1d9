import type { Platform } from '@postern/core'
import { Unavailable } from '@postern/core'

interface CallDeadline {
  /** Aborts when the time is over, or with the caller's own reason. */
  readonly signal: AbortSignal
  /** Lets go of the clock and the caller. */
  clear(): void
}

/** One end for a whole call; `AbortSignal.timeout` would hold the call until then, however early it is done. */
export function openCallDeadline(
  ms: number,
  caller: AbortSignal | undefined,
  { sleep }: Pick<Platform, 'sleep'>,
): CallDeadline {
  const controller = new AbortController()
  const done = new AbortController()
  const give = () => controller.abort(caller?.reason)
  if (caller?.aborted) give()
  else caller?.addEventListener('abort', give, { once: true })
  void sleep(ms, done.signal).then(() => {
    if (!done.signal.aborted) controller.abort(new Unavailable('Cannot call agent: it did not answer in time'))
  })
  return {
    signal: controller.signal,
    clear() {
      done.abort()
      caller?.removeEventListener('abort', give)
    },
  }
}
