import { hash } from 'node:crypto'
import { Rejection } from '@postern/core'

export interface ReplayMemory {
  /**
   * Remembers `id` until `until` (ms). False when it is remembered already.
   * @throws Rejection `rate_limited` when there is no room: what cannot be remembered cannot be let in
   */
  take(id: string, until: number): boolean
}

/**
 * Ids that may be used once, of this process. Every id is kept to its own end, so the oldest entries need not be the
 * first to end; room is made once per second at most.
 */
export function createReplayMemory(now: () => number, maxEntries = 100_000): ReplayMemory {
  const untilOf = new Map<string, number>()
  let sweptAt = Number.NEGATIVE_INFINITY

  function sweep(): void {
    if (now() - sweptAt < 1_000) return
    sweptAt = now()
    for (const [id, until] of untilOf) if (until < sweptAt) untilOf.delete(id)
  }

  return {
    take(id, until) {
      const key = hash('sha256', id, 'base64')
      const known = untilOf.get(key)
      if (known !== undefined && known >= now()) return false
      if (untilOf.size >= maxEntries) sweep()
      if (untilOf.size >= maxEntries) {
        throw new Rejection('rate_limited', 'Cannot take request: too many in a short time', { retryAfter: 5 })
      }
      untilOf.set(key, until)
      return true
    },
  }
}
