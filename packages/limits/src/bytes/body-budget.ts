// Divides the memory for bodies among the channels, so that large bodies do not block small ones.
import type { BodyBudget, BodyReservation } from '@postern/message'
import { Rejection, Unavailable } from '@postern/message/errors'
import type { ByteLimit } from './byte-limit.ts'
import { addToLimits, createByteLimit, createOwnerLimits, removeFromLimits } from './byte-limit.ts'

/** The memory for the bodies of all channels, from which each channel gets its budget. */
export interface SharedBodyBudget {
  /** Returns the budget of a channel. */
  forChannel(channel: string): BodyBudget
  /** Returns true if not even a small body would fit. */
  isFull(): boolean
}

interface BodyBudgetOptions {
  /** The maximum number of bytes of all bodies together. */
  readonly maxBytes: number
  /** The message for a peer. */
  readonly refusal: string
}

/** The size up to which a body counts as small. Most requests and mails are smaller. */
const smallBytes = 64 * 1024

/**
 * Creates a budget of which an eighth is reserved for small bodies, and the other bytes serve bodies of any size. A channel may use half of each
 * part, and one network address a quarter. A body counts as small until it grows.
 */
export function createBodyBudget({ maxBytes: total, refusal }: BodyBudgetOptions): SharedBodyBudget {
  const smallBodyBytes = total / 8
  const smallPool = createPool(smallBodyBytes, refusal)
  const largePool = createPool(total - smallBodyBytes, refusal)
  const retries = new Set<() => void>()
  return {
    forChannel: channel => ({
      reserve: owner => {
        const pools = { small: smallPool.open(channel, owner), large: largePool.open(channel, owner) }
        return openReservation(pools, retries)
      },
    }),
    isFull: () => smallPool.isFullFor(smallBytes) && largePool.isFullFor(smallBytes),
  }
}

function createPool(total: number, refusal: string) {
  const createUnavailable = () => new Unavailable(refusal, { retryAfter: 30 })
  const totalLimit = createByteLimit(total, createUnavailable)
  const limitOfChannel = createOwnerLimits(total / 2, createUnavailable)
  const limitOfOwner = createOwnerLimits(total / 4, () => new Rejection('rate_limited', refusal, { retryAfter: 5 }))
  return {
    open: (channel: string, owner: string) => [
      limitOfOwner(JSON.stringify([channel, owner])),
      limitOfChannel(channel),
      totalLimit,
    ],
    isFullFor: (bytes: number) => totalLimit.isFullFor(bytes),
  }
}

type Pool = readonly ByteLimit[]

/** Opens the reservation of one body. `retries` are the attempts of all reservations that wait for free bytes. */
function openReservation(pools: Readonly<Record<'small' | 'large', Pool>>, retries: Set<() => void>): BodyReservation {
  const key = {}
  let pool = pools.small
  let usedBytes = 0

  function add(bytes: number): void {
    if (bytes === 0) return
    const isSmall = pool === pools.small && usedBytes + bytes <= smallBytes
    if (isSmall && fits(pool, key, bytes)) addToLimits(pool, key, bytes)
    else if (pool === pools.large) addToLimits(pool, key, bytes)
    else {
      addToLimits(pools.large, key, usedBytes + bytes)
      removeFromLimits(pools.small, key)
      pool = pools.large
    }
    usedBytes += bytes
  }

  return {
    add,
    acquire: (bytes, signal) => addWhenFree(() => add(bytes), retries, signal),
    release() {
      if (usedBytes === 0) return
      usedBytes = 0
      removeFromLimits(pool, key)
      pool = pools.small
      for (const retry of [...retries]) retry()
    },
  }
}

/** Calls `add` at once, and again whenever bytes are released, until it succeeds. */
async function addWhenFree(add: () => void, retries: Set<() => void>, signal: AbortSignal): Promise<void> {
  try {
    return add()
  } catch (refusalError) {
    if (signal.aborted) throw refusalError
    await new Promise<void>((resolve, reject) => {
      const settle = (result: () => void) => {
        retries.delete(retry)
        signal.removeEventListener('abort', abort)
        result()
      }
      const abort = () => settle(() => reject(refusalError))
      const retry = () => {
        try {
          add()
        } catch {
          return
        }
        settle(resolve)
      }
      retries.add(retry)
      signal.addEventListener('abort', abort)
    })
  }
}

function fits(pool: Pool, key: object, bytes: number): boolean {
  try {
    for (const limit of pool) limit.check(key, bytes)
    return true
  } catch {
    return false
  }
}
