import type { Platform } from '@postern/core'
import { Unavailable } from '@postern/core'

interface CallDeadline {
  /** Aborts when the time is over, or with the caller's reason. */
  readonly signal: AbortSignal
  /** Releases the timer and the caller's signal. */
  clear(): void
}

/** One deadline for a whole call. `AbortSignal.timeout` would keep the call in memory until then, even after it ends. */
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
