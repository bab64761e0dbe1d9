import { Rejection } from '@postern/core'

interface CallSlots {
  /** Gives the slot back. @throws Rejection `rate_limited` */
  take(key: string): () => void
}

/** How much may be under way at the same time: in all, and for one person. */
export function createCallSlots(limits: { readonly total: number; readonly perKey: number }, what: string): CallSlots {
  const counts = new Map<string, number>()
  let total = 0
  return {
    take(key) {
      const count = counts.get(key) ?? 0
      if (total >= limits.total || count >= limits.perKey) throw new Rejection('rate_limited', what, { retryAfter: 5 })
      total += 1
      counts.set(key, count + 1)
      let isTaken = true
      return () => {
        if (!isTaken) return
        isTaken = false
        total -= 1
        const left = (counts.get(key) ?? 1) - 1
        if (left > 0) counts.set(key, left)
        else counts.delete(key)
      }
    },
  }
}
