// Shares the memory for bodies among the channels, so that large bodies do not block small ones.
import type { BodyBudget, BodyHold } from '@postern/message'
import { Rejection, Unavailable } from '@postern/message/errors'
import type { ByteShare } from './byte-share.ts'
import { createByteShare, createOwnerShares } from './byte-share.ts'

/** The budgets of all channels, which are parts of one budget. */
export interface SharedBodyBudget {
  /** Returns the budget of a channel. */
  forChannel(channel: string): BodyBudget
  /** Returns true if not even a small body would fit. */
  isFull(): boolean
}

interface BodyBudgetOptions {
  /** The maximum number of bytes of all bodies together. */
  readonly total: number
  /** The message for a peer. */
  readonly refusal: string
}

/** The size up to which a body counts as small. Most requests and mails are smaller. */
const smallBytes = 64 * 1024

/**
 * Creates a budget of which an eighth is reserved for small bodies; the rest is for bodies of any size. A channel may use half of each part, and one
 * network address half of that. A body counts as small until it grows.
 */
export function createBodyBudget({ total, refusal }: BodyBudgetOptions): SharedBodyBudget {
  const reserve = total / 8
  const smallPool = createPool(reserve, refusal)
  const largePool = createPool(total - reserve, refusal)
  const retries = new Set<() => void>()
  const wake = () => {
    for (const retry of [...retries]) retry()
  }
  return {
    forChannel: channel => ({
      hold: owner =>
        openHold({ small: smallPool.open(channel, owner), large: largePool.open(channel, owner) }, retries, wake),
    }),
    isFull: () => smallPool.isFullFor(smallBytes) && largePool.isFullFor(smallBytes),
  }
}

function createPool(total: number, refusal: string) {
  const unavailable = () => new Unavailable(refusal, { retryAfter: 30 })
  const totalShare = createByteShare(total, unavailable)
  const channels = createOwnerShares(total / 2, unavailable)
  const owners = createOwnerShares(total / 4, () => new Rejection('rate_limited', refusal, { retryAfter: 5 }))
  return {
    open: (channel: string, owner: string) => [owners(JSON.stringify([channel, owner])), channels(channel), totalShare],
    isFullFor: (bytes: number) => totalShare.isFullFor(bytes),
  }
}

type Pool = readonly ByteShare[]

function openHold(
  pools: Readonly<Record<'small' | 'large', Pool>>,
  retries: Set<() => void>,
  wake: () => void,
): BodyHold {
  const key = {}
  let pool = pools.small
  let heldBytes = 0

  function add(bytes: number): void {
    if (bytes === 0) return
    const isSmall = pool === pools.small && heldBytes + bytes <= smallBytes
    if (isSmall && fits(pool, key, bytes)) addTo(pool, key, bytes)
    else if (pool === pools.large) addTo(pool, key, bytes)
    else {
      addTo(pools.large, key, heldBytes + bytes)
      removeFrom(pools.small, key)
      pool = pools.large
    }
    heldBytes += bytes
  }

  return {
    add,
    acquire: (bytes, signal) => addLater(() => add(bytes), retries, signal),
    release() {
      if (heldBytes === 0) return
      heldBytes = 0
      removeFrom(pool, key)
      pool = pools.small
      wake()
    },
  }
}

/** Calls `add` at once, and again whenever bytes are released, until it succeeds. */
async function addLater(add: () => void, retries: Set<() => void>, signal: AbortSignal): Promise<void> {
  try {
    return add()
  } catch (fault) {
    if (signal.aborted) throw fault
    await new Promise<void>((resolve, reject) => {
      const settle = (result: () => void) => {
        retries.delete(retry)
        signal.removeEventListener('abort', abort)
        result()
      }
      const abort = () => settle(() => reject(fault))
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
    for (const share of pool) share.check(key, bytes)
    return true
  } catch {
    return false
  }
}

function addTo(pool: Pool, key: object, bytes: number): void {
  for (const share of pool) share.check(key, bytes)
  for (const share of pool) share.add(key, bytes)
}

function removeFrom(pool: Pool, key: object): void {
  for (const share of pool) share.remove(key)
}
