// Limits the time that an agent has for a turn.

/**
 * Starts the clock of a turn. Its signal aborts after `deadlineMs`, or when one of `stopSignals` aborts. `AbortSignal.any` with `AbortSignal.timeout`
 * would do the same, but both would keep the turn and its answer in memory until the deadline, even if the agent finishes early.
 */
export function startTurnClock(deadlineMs: number, stopSignals: readonly AbortSignal[]) {
  const controller = new AbortController()
  const rejectCallbacks: ((reason: unknown) => void)[] = []
  const abort = (reason: unknown) => {
    controller.abort(reason)
    for (const rejectWork of rejectCallbacks) rejectWork(reason)
  }
  const onStop = ({ target }: Event) => abort((target as AbortSignal).reason)
  const timer = setTimeout(() => abort(new DOMException('the agent took too long', 'TimeoutError')), deadlineMs)
  for (const stopSignal of stopSignals) {
    if (stopSignal.aborted) abort(stopSignal.reason)
    else stopSignal.addEventListener('abort', onStop, { once: true })
  }
  return {
    signal: controller.signal,
    /** Waits for `work` while there is time. @throws the reason of the signal when the time is over */
    waitWithinTime: <T>(work: Promise<T>) =>
      new Promise<T>((resolve, reject) => {
        work.then(resolve, reject)
        rejectCallbacks.push(reject)
        if (controller.signal.aborted) reject(controller.signal.reason)
      }),
    /** Stops the clock, which releases its references to the turn. */
    stop() {
      clearTimeout(timer)
      for (const stopSignal of stopSignals) stopSignal.removeEventListener('abort', onStop)
    },
  }
}
