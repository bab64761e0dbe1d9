// Limits the time that an agent has for a turn.

/**
 * The time an agent has, as one signal that is let go of when the turn is over. Runs out after `deadlineMs` or when one of `stops` aborts.
 * `AbortSignal.any` with `AbortSignal.timeout` would do the same, but it holds the turn and its answer until the deadline, however early the
 * agent is done.
 */
export function startTurnClock(deadlineMs: number, stops: readonly AbortSignal[]) {
  const controller = new AbortController()
  const waits: ((reason: unknown) => void)[] = []
  const abort = (reason: unknown) => {
    controller.abort(reason)
    for (const end of waits) end(reason)
  }
  const onStop = ({ target }: Event) => abort((target as AbortSignal).reason)
  const timer = setTimeout(() => abort(new DOMException('the agent took too long', 'TimeoutError')), deadlineMs)
  for (const stop of stops) {
    if (stop.aborted) abort(stop.reason)
    else stop.addEventListener('abort', onStop, { once: true })
  }
  return {
    signal: controller.signal,
    /** Waits for `work` as long as there is time. @throws the signal's reason once the time is over */
    limit: <T>(work: Promise<T>) =>
      new Promise<T>((resolve, reject) => {
        work.then(resolve, reject)
        waits.push(reject)
        if (controller.signal.aborted) reject(controller.signal.reason)
      }),
    /** Stops the clock: nothing of the turn is held any longer. */
    stop() {
      clearTimeout(timer)
      for (const stop of stops) stop.removeEventListener('abort', onStop)
    },
  }
}
