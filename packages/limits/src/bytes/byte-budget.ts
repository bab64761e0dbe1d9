// Limits the bytes that are in memory at a time, of all owners together and of each one.
import type { ByteBudget } from '@postern/message'
import { Rejection, Unavailable } from '@postern/message/errors'
import type { ByteShare } from './byte-share.ts'
import { createByteShare, createOwnerShares } from './byte-share.ts'

interface ByteBudgetOptions {
  /** The maximum number of bytes of all owners together. */
  readonly total: number
  /** The maximum number of bytes of one owner; default: half of `total`. */
  readonly perOwner?: number | undefined
  /** The message for a peer. */
  readonly refusal: string
}

/** Creates a budget that counts the held bytes and refuses more than its limits. An owner without a hold uses no memory. */
export function createByteBudget({ total, perOwner = total / 2, refusal }: ByteBudgetOptions): ByteBudget {
  const totalShare = createByteShare(total, () => new Unavailable(refusal, { retryAfter: 30 }))
  const owners = createOwnerShares(perOwner, () => new Rejection('rate_limited', refusal, { retryAfter: 5 }))
  return {
    hold(owner) {
      const key = {}
      const shares: readonly ByteShare[] = [owners(owner), totalShare]
      return {
        add(bytes) {
          for (const share of shares) share.check(key, bytes)
          for (const share of shares) share.add(key, bytes)
        },
        release() {
          for (const share of shares) share.remove(key)
        },
      }
    },
  }
}
