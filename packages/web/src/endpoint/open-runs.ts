import { Rejection } from '@postern/core'

/** How many streams, or uploads, one owner has at a time. */
export interface OpenRuns {
  /** Returns what ends it; calling it twice counts once. @throws Rejection rate_limited */
  enter(owner: string): () => void
}

export function createOpenRuns(most: number, refusal = 'Cannot run: too many runs are open'): OpenRuns {
  const counts = new Map<string, number>()
  return {
    enter(owner) {
      const count = counts.get(owner) ?? 0
      if (count >= most) throw new Rejection('rate_limited', refusal, { retryAfter: 5 })
      counts.set(owner, count + 1)
      let isOpen = true
      return () => {
        if (!isOpen) return
        isOpen = false
        const left = (counts.get(owner) ?? 1) - 1
        if (left > 0) counts.set(owner, left)
        else counts.delete(owner)
      }
    },
  }
}
