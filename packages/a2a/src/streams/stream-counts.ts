import { Rejection } from '@postern/core'

/** Counts the open streams of each caller. */
export interface StreamCounts {
  /** Returns what ends it; calling it twice counts once. @throws Rejection `rate_limited` */
  enter(caller: string): () => void
  total(): number
}

export function createStreamCounts(most: number): StreamCounts {
  const counts = new Map<string, number>()

  function leave(caller: string): void {
    const left = (counts.get(caller) ?? 1) - 1
    if (left > 0) counts.set(caller, left)
    else counts.delete(caller)
  }

  return {
    enter(caller) {
      const open = counts.get(caller) ?? 0
      if (open >= most) {
        throw new Rejection('rate_limited', 'Cannot open stream: the caller has too many open', { retryAfter: 10 })
      }
      counts.set(caller, open + 1)
      let isOver = false
      return () => {
        if (!isOver) leave(caller)
        isOver = true
      }
    },
    total: () => [...counts.values()].reduce((sum, count) => sum + count, 0),
  }
}
