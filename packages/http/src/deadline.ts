import { Unavailable } from '@postern/core'

export interface Deadline {
  /** Aborts with an `Unavailable`, when the time is over or the caller gave up. */
  readonly signal: AbortSignal
  clear(): void
}

/** One end for the whole exchange: waiting, looking up, connecting, redirects and the last byte. */
export function openDeadline(timeoutMs: number, caller: AbortSignal | undefined): Deadline {
  const controller = new AbortController()
  const cancel = () => controller.abort(new Unavailable('Cannot fetch: canceled', { cause: caller?.reason }))
  const timer = setTimeout(() => controller.abort(new Unavailable('Cannot fetch: no answer in time')), timeoutMs)
  if (caller?.aborted) cancel()
  else caller?.addEventListener('abort', cancel, { once: true })
  return {
    signal: controller.signal,
    clear() {
      clearTimeout(timer)
      caller?.removeEventListener('abort', cancel)
    },
  }
}
