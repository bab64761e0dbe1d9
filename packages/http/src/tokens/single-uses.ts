import { hash } from 'node:crypto'
import type { Store } from '@postern/core'
import { Rejection } from '@postern/core'

/** An id that may be used once. */
interface SingleUse {
  readonly id: string
  /** The caller who uses it. Each owner has their own capacity. */
  readonly owner: string
  /** ms */
  readonly until: number
}

interface ReplayMemory {
  /**
   * Remembers the id until its end. False when it is known already. @throws Rejection `rate_limited` when it is full, because an id that
   * cannot be remembered cannot be admitted
   */
  take(use: SingleUse): boolean
  /** Takes the use back. */
  giveBack(use: SingleUse): void
}

/** Ids that count once in the whole gateway: in every process, and after a restart. */
export interface SingleUses {
  /** False when it was used before. Durable when it resolves. @throws Rejection `rate_limited` when the owner uses too many; Unavailable */
  take(use: SingleUse): Promise<boolean>
}

/** The process's memory refuses most repetitions and limits the queries to the store. The store decides. */
export function createSingleUses(store: Pick<Store, 'consumeOnce'>, now: () => number): SingleUses {
  const memory = createReplayMemory(now)
  return {
    async take(use) {
      if (!memory.take(use)) return false
      try {
        return await store.consumeOnce(`a2a ${use.id}`, use.until)
      } catch (error) {
        memory.giveBack(use)
        throw error
      }
    },
  }
}

const usualBounds: { readonly entries: number; readonly perOwner: number } = { entries: 100_000, perOwner: 10_000 }

const keyOf = ({ id }: SingleUse) => hash('sha256', id, 'base64')

/**
 * Ids of this process that may be used once. Each id has its own end, so the oldest entries may not end first. It drops expired ids once a
 * second at most.
 */
export function createReplayMemory(now: () => number, bounds = usualBounds): ReplayMemory {
  const uses = new Map<string, SingleUse>()
  const ofOwner = new Map<string, number>()
  let sweptAt = Number.NEGATIVE_INFINITY

  const isFull = (owner: string) => uses.size >= bounds.entries || (ofOwner.get(owner) ?? 0) >= bounds.perOwner

  function sweep(): void {
    if (now() - sweptAt < 1_000) return
    sweptAt = now()
    for (const [key, { owner, until }] of uses) {
      if (until >= sweptAt) continue
      uses.delete(key)
      count(owner, -1)
    }
  }

  function count(owner: string, by: 1 | -1): void {
    const left = (ofOwner.get(owner) ?? 0) + by
    if (left > 0) ofOwner.set(owner, left)
    else ofOwner.delete(owner)
  }

  return {
    take(use) {
      const key = keyOf(use)
      const known = uses.get(key)
      if (known && known.until >= now()) return false
      if (isFull(use.owner)) sweep()
      if (isFull(use.owner)) {
        throw new Rejection('rate_limited', 'Cannot take request: too many in a short time', { retryAfter: 5 })
      }
      const before = uses.get(key)
      if (before) count(before.owner, -1)
      uses.set(key, { ...use, id: '' })
      count(use.owner, 1)
      return true
    },
    giveBack(use) {
      if (uses.delete(keyOf(use))) count(use.owner, -1)
    },
  }
}
