import type { ByteBudget, ByteHold } from '@postern/core'
import { Rejection, Unavailable } from '@postern/core'

export interface ByteBudgetOptions {
  /** Bytes of all owners together. */
  readonly total: number
  /** Bytes of one owner; default: half of `total`. */
  readonly perOwner?: number | undefined
  /** The message for a peer. */
  readonly refusal: string
}

interface Owner {
  bytes: number
  holds: number
}

/**
 * Counts the held bytes, and refuses what exceeds the budget. A single hold may have any size: otherwise a large one
 * could never be had. Keeps nothing for an owner without a hold.
 */
export function createByteBudget({ total, perOwner = total / 2, refusal }: ByteBudgetOptions): ByteBudget {
  const owners = new Map<string, Owner>()
  let held = 0

  function openOwner(name: string): Owner {
    const owner = owners.get(name) ?? { bytes: 0, holds: 0 }
    owners.set(name, owner)
    owner.holds += 1
    return owner
  }

  function closeOwner(name: string, owner: Owner): void {
    owner.holds -= 1
    if (owner.holds === 0) owners.delete(name)
  }

  /** `mine`: the bytes of the growing hold so far. */
  function check(owner: Owner, mine: number, bytes: number): void {
    if (owner.bytes > mine && owner.bytes + bytes > perOwner)
      throw new Rejection('rate_limited', refusal, { retryAfter: 5 })
    if (held > mine && held + bytes > total) throw new Unavailable(refusal, { retryAfter: 30 })
  }

  return {
    hold(name): ByteHold {
      const owner = openOwner(name)
      let mine = 0
      let isOpen = true
      return {
        add(bytes) {
          check(owner, mine, bytes)
          mine += bytes
          owner.bytes += bytes
          held += bytes
        },
        release() {
          if (!isOpen) return
          isOpen = false
          owner.bytes -= mine
          held -= mine
          closeOwner(name, owner)
        },
      }
    },
  }
}
