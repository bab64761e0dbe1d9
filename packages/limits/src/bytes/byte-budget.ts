// Limits the bytes that are in memory at a time, of all owners together and of each one.
import type { ByteBudget } from '@postern/message'
import { Rejection, Unavailable } from '@postern/message/errors'
import type { ByteLimit } from './byte-limit.ts'
import { addToLimits, createByteLimit, createOwnerLimits, removeFromLimits } from './byte-limit.ts'

interface ByteBudgetOptions {
  /** The maximum number of bytes of all owners together. */
  readonly maxBytes: number
  /** The maximum number of bytes of one owner. The default is half of `total`. */
  readonly maxBytesPerOwner?: number | undefined
  /** The message for a peer. */
  readonly refusal: string
}

/** Creates a budget that counts the reserved bytes and refuses more than its limits. An owner without a reservation uses no memory. */
export function createByteBudget({
  maxBytes: total,
  maxBytesPerOwner: perOwner = total / 2,
  refusal,
}: ByteBudgetOptions): ByteBudget {
  const totalLimit = createByteLimit(total, () => new Unavailable(refusal, { retryAfter: 30 }))
  const limitOfOwner = createOwnerLimits(perOwner, () => new Rejection('rate_limited', refusal, { retryAfter: 5 }))
  return {
    reserve(owner) {
      const key = {}
      const limits: readonly ByteLimit[] = [limitOfOwner(owner), totalLimit]
      return {
        add: bytes => addToLimits(limits, key, bytes),
        release: () => removeFromLimits(limits, key),
      }
    },
  }
}
