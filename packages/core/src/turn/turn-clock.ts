/** The time an agent has, as one signal that is let go of when the turn is over. */
interface TurnClock {
  readonly signal: AbortSignal
  /** Rejects with the signal's reason once the time is over; never resolves. */
  readonly expired: Promise<never>
  abort(reason: Error): void
  /** Stops the clock: nothing of the turn is held any longer. */
  stop(): void
}

/**
 * Runs out after `deadlineMs` or when `stop` aborts. `AbortSignal.any` with `AbortSignal.timeout` would do the same, but it
 * holds the turn and its answer until the deadline, however early the agent is done.
 */
export function startTurnClock(deadlineMs: number, stop: AbortSignal): TurnClock {
  const controller = new AbortController()
  const { promise: expired, reject } = Promise.withResolvers<never>()
  // Nobody may be waiting when the time runs out.
  expired.catch(() => undefined)
  const abort = (reason: unknown) => {
    controller.abort(reason)
    reject(reason)
  }
  const onStop = () => abort(stop.reason)
  const timer = setTimeout(() => abort(new DOMException('the agent took too long', 'TimeoutError')), deadlineMs)
  if (stop.aborted) onStop()
  else stop.addEventListener('abort', onStop, { once: true })
  return {
    signal: controller.signal,
    expired,
    abort,
    stop() {
      clearTimeout(timer)
      stop.removeEventListener('abort', onStop)
    },
  }
}
