// Limits the time for which the gateway defers a mail that it cannot verify yet.
import type { System } from '@postern/message'
import type { OnceStore } from '@postern/pipeline'

/**
 * Returns true if a message, by the digest of its content, may still be deferred. The first call starts its time limit, so that no
 * message is deferred forever.
 */
export type MayDefer = (digest: string) => Promise<boolean>

/** The lifetime of a record, ms. It exceeds the retries of any server. */
const rememberedMs = 14 * 86_400_000

/**
 * Creates the check. A message may be deferred for `longestMs` after its first arrival at any process.
 */
export function createDeferrals(store: OnceStore, { now }: Pick<System, 'now'>, maxDeferralMs: number): MayDefer {
  return async digest => {
    const isNew = await store.consumeOnce(`mail put off ${digest}`, now() + rememberedMs)
    // Once its time is over, this key can be consumed again, at each call.
    const isOver = await store.consumeOnce(`mail may be put off ${digest}`, isNew ? now() + maxDeferralMs : now() - 1)
    return maxDeferralMs > 0 && (isNew || !isOver)
  }
}
