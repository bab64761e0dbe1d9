import type { Platform } from '@postern/core'

export interface TimeBudget {
  isOver(): boolean
  /** The result of `work`, or undefined when the time is over first; the work itself continues. */
  within<Result>(work: Promise<Result>): Promise<Result | undefined>
  /** Stops the timer. */
  end(): void
}

/** Over after `ms`, or when `signal` aborts. */
export function startTimeBudget({ sleep }: Pick<Platform, 'sleep'>, ms: number, signal: AbortSignal): TimeBudget {
  const controller = new AbortController()
  const stop = () => controller.abort()
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  let isOver = false
  const over = sleep(ms, controller.signal).then(() => {
    isOver = true
    return undefined
  })
  return {
    isOver: () => isOver,
    within: work => Promise.race([work, over]),
    end() {
      signal.removeEventListener('abort', stop)
      stop()
    },
  }
}
