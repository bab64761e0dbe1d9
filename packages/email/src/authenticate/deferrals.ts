// Limits the time for which the gateway defers a mail that it cannot verify yet.
import type { System } from '@postern/message'
import type { SingleUseStore } from '@postern/pipeline'

/**
 * Returns true if a message may still be deferred. `digest` is the digest of its content. The first call starts the
 * time limit of a message, so that no message is deferred forever.
 */
export type MayDefer = (digest: string) => Promise<boolean>

/** The lifetime of the record of a message, ms. No server retries for longer. */
const recordLifetimeMs = 14 * 86_400_000

/** Creates the check. A message may be deferred for `maxDeferralMs` after it first arrived at any process. */
export function createDeferrals(store: SingleUseStore, { now }: Pick<System, 'now'>, maxDeferralMs: number): MayDefer {
  return async digest => {
    const isNew = await store.consumeOnce(`mail put off ${digest}`, now() + recordLifetimeMs)
    // The second key expires at the end of the time limit, and then every call can consume it again.
    const isExpired = await store.consumeOnce(
      `mail may be put off ${digest}`,
      isNew ? now() + maxDeferralMs : now() - 1,
    )
    return maxDeferralMs > 0 && (isNew || !isExpired)
  }
}
