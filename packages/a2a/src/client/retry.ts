// Calls an unreachable peer again after growing pauses, as long as a caller waits for its answer.
import type { System } from '@postern/message'
import { Unavailable } from '@postern/message'

/** The pauses before the retries of an unreachable peer, ms. They are short, because a caller waits for the answer. */
const pausesMs = [1_000, 4_000, 10_000] as const
/** The longest `Retry-After` of a peer that a call waits for, ms. */
const maxPauseMs = 30_000

interface RetryDeps {
  readonly signal: AbortSignal
  readonly system: Pick<System, 'sleep'>
  /** Returns true if the peer may have acted on the call in spite of the failure. */
  mayHaveActed(error: Unavailable): boolean
}

/** The statuses of a server that has not begun to process a request. */
const refusedStatuses: ReadonlySet<unknown> = new Set([429, 503])
/** The error codes of connections that were never opened, and of failed DNS lookups. */
const unsentErrorPattern =
  /^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ENETDOWN|ENOTFOUND|ENODATA|ESERVFAIL|EREFUSED|EAI_AGAIN)$/

/** Returns true if the failure shows that the peer did not accept the request. */
export function wasNotAccepted({ status, cause }: Unavailable): boolean {
  const { code } = (cause ?? {}) as { readonly code?: unknown }
  return refusedStatuses.has(status) || unsentErrorPattern.test(String(code))
}

/** Runs a call, and retries it while the peer is unreachable. @throws the error of the last attempt */
export async function callWithRetries<Value>(
  call: () => Promise<Value>,
  { signal, system, mayHaveActed }: RetryDeps,
): Promise<Value> {
  for (const pauseMs of pausesMs) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof Unavailable) || mayHaveActed(error)) throw error
      const waitMs = Math.max(pauseMs, (error.retryAfter ?? 0) * 1000)
      if (waitMs > maxPauseMs || signal.aborted) throw error
      await system.sleep(waitMs, signal)
      if (signal.aborted) throw error
    }
  }
  return call()
}
