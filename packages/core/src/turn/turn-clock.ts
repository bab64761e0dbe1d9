/** The time an agent has, as one signal that is let go of when the turn is over. */
interface TurnClock {
  readonly signal: AbortSignal
  /** Rejects with the signal's reason once the time is over; never resolves. */
  readonly expired: Promise<never>
  /** Stops the clock: nothing of the turn is held any longer. */
  stop(): void
}

/**
 * Runs out after `deadlineMs` or when one of `stops` aborts. `AbortSignal.any` with `AbortSignal.timeout` would do the same, but it
 * holds the turn and its answer until the deadline, however early the agent is done.
 */
export function startTurnClock(deadlineMs: number, stops: readonly AbortSignal[]): TurnClock {
  const controller = new AbortController()
  const { promise: expired, reject } = Promise.withResolvers<never>()
  // Nobody may be waiting when the time runs out.
  expired.catch(() => undefined)
  const abort = (reason: unknown) => {
    controller.abort(reason)
    reject(reason)
  }
  const onStop = ({ target }: Event) => abort((target as AbortSignal).reason)
  const timer = setTimeout(() => abort(new DOMException('the agent took too long', 'TimeoutError')), deadlineMs)
  for (const stop of stops) {
    if (stop.aborted) abort(stop.reason)
    else stop.addEventListener('abort', onStop, { once: true })
  }
  return {
    signal: controller.signal,
    expired,
    stop() {
      clearTimeout(timer)
      for (const stop of stops) stop.removeEventListener('abort', onStop)
    },
  }
}
