// Remembers ids that count once, so that nobody can replay a token or a proof.
import { hash } from 'node:crypto'
import { Rejection } from '@postern/message'
import type { Store } from '@postern/pipeline'

/** An id that may be used once. */
interface SingleUse {
  readonly id: string
  /** The caller who uses it. Each owner has their own capacity. */
  readonly owner: string
  /** The end of the time in which the id must not be used again, ms. */
  readonly expiresAt: number
}

interface ReplayMemory {
  /**
   * Remembers the id until its end. Returns false if the id is known already.
   * @throws Rejection `rate_limited` if the memory is full, because an id that cannot be remembered cannot be admitted
   */
  consume(use: SingleUse): boolean
  /** Undoes the use, so that the id can be used again. */
  restore(use: SingleUse): void
}

/** The ids that count once in the whole gateway: in every process, and even after a restart. */
export interface SingleUses {
  /**
   * Uses up an id. Resolves once the use is durable, with false if the id was used before.
   * @throws Rejection `rate_limited` for too many ids; Unavailable
   */
  consume(use: SingleUse): Promise<boolean>
}

/** Creates the single uses. The store decides. The memory of the process refuses most repetitions before they reach the store. */
export function createSingleUses(store: Pick<Store, 'consumeOnce'>, now: () => number): SingleUses {
  const memory = createReplayMemory(now)
  return {
    async consume(use) {
      if (!memory.consume(use)) return false
      try {
        return await store.consumeOnce(`a2a ${use.id}`, use.expiresAt)
      } catch (error) {
        memory.restore(use)
        throw error
      }
    },
  }
}

const defaultBounds: { readonly entries: number; readonly perOwner: number } = { entries: 100_000, perOwner: 10_000 }

const keyOf = ({ id }: SingleUse) => hash('sha256', id, 'base64')

/**
 * Creates the memory of this process for ids that may be used once. Each id has its own end, so the oldest entries may not end first. Expired
 * ids are dropped at most once a second.
 */
export function createReplayMemory(now: () => number, bounds = defaultBounds): ReplayMemory {
  const uses = new Map<string, SingleUse>()
  const countsByOwner = new Map<string, number>()
  let sweptAt = Number.NEGATIVE_INFINITY

  const isFull = (owner: string) => uses.size >= bounds.entries || (countsByOwner.get(owner) ?? 0) >= bounds.perOwner

  function sweep(): void {
    if (now() - sweptAt < 1_000) return
    sweptAt = now()
    for (const [key, { owner, expiresAt }] of uses) {
      if (expiresAt >= sweptAt) continue
      uses.delete(key)
      count(owner, -1)
    }
  }

  function count(owner: string, change: 1 | -1): void {
    const remaining = (countsByOwner.get(owner) ?? 0) + change
    if (remaining > 0) countsByOwner.set(owner, remaining)
    else countsByOwner.delete(owner)
  }

  return {
    consume(use) {
      const key = keyOf(use)
      const earlierUse = uses.get(key)
      if (earlierUse && earlierUse.expiresAt >= now()) return false
      if (isFull(use.owner)) sweep()
      if (isFull(use.owner)) {
        throw new Rejection('rate_limited', 'Cannot take request: too many in a short time', { retryAfter: 5 })
      }
      // `sweep` may have removed the earlier use, so it is read again.
      const expiredUse = uses.get(key)
      if (expiredUse) count(expiredUse.owner, -1)
      uses.set(key, { ...use, id: '' })
      count(use.owner, 1)
      return true
    },
    restore(use) {
      if (uses.delete(keyOf(use))) count(use.owner, -1)
    },
  }
}
