// Sets one deadline for a whole exchange.

import { Unavailable } from '@postern/message'

interface Deadline {
  /** The signal that aborts with an `Unavailable` when the time is over or the caller gives up. */
  readonly signal: AbortSignal
  clear(): void
}

/** The maximum of a timer. Larger values would fire at once. */
const maxTimerMs = 2 ** 31 - 1

/** Opens one deadline for a whole exchange: queue, lookup, connect, redirects and the last byte. */
export function openDeadline(timeoutMs: number, callerSignal: AbortSignal | undefined): Deadline {
  const controller = new AbortController()
  const cancel = () => controller.abort(new Unavailable('Cannot fetch: canceled', { cause: callerSignal?.reason }))
  const expire = () => controller.abort(new Unavailable('Cannot fetch: no answer in time'))
  const timer = setTimeout(expire, Math.min(timeoutMs, maxTimerMs))
  if (callerSignal?.aborted) cancel()
  else callerSignal?.addEventListener('abort', cancel, { once: true })
  return {
    signal: controller.signal,
    clear() {
      clearTimeout(timer)
      callerSignal?.removeEventListener('abort', cancel)
    },
  }
}
