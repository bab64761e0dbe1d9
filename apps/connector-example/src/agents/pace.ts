import type { LinePlatform } from './agent-line.ts'

export interface Pace<Value> {
  /** Shown in its time, unless something newer takes its place. */
  push(value: Value): void
  /** What has not been shown is not shown any more. */
  stop(): void
}

/** Shows the newest of what comes, but not more often than every `paceMs`. */
export function createPace<Value>(
  show: (value: Value) => void,
  { paceMs, platform }: { readonly paceMs: number; readonly platform: Pick<LinePlatform, 'now' | 'sleep'> },
): Pace<Value> {
  let waiting: { readonly value: Value } | undefined
  let shownAt = Number.NEGATIVE_INFINITY

  async function showLater(ms: number): Promise<void> {
    await platform.sleep(ms)
    if (!waiting) return
    const { value } = waiting
    waiting = undefined
    shownAt = platform.now()
    show(value)
  }

  return {
    push(value) {
      const isAwaited = waiting !== undefined
      waiting = { value }
      if (!isAwaited) void showLater(Math.max(0, shownAt + paceMs - platform.now()))
    },
    stop() {
      waiting = undefined
    },
  }
}
