import type { OnceStore, Platform } from '@postern/core'

/**
 * May this message (by the digest of its content) still be put off? The first question starts its time, so that it is not put off for ever.
 */
export type MayDefer = (digest: string) => Promise<boolean>

/** Longer than any server keeps a message. */
const rememberedMs = 14 * 86_400_000

/** `longestMs` from the first time a message came, whichever process it came to. */
export function createDeferrals(store: OnceStore, { now }: Pick<Platform, 'now'>, longestMs: number): MayDefer {
  return async digest => {
    const isNew = await store.consumeOnce(`mail put off ${digest}`, now() + rememberedMs)
    // Free again once its time is over, and from then on whenever it is asked for.
    const isOver = await store.consumeOnce(`mail may be put off ${digest}`, isNew ? now() + longestMs : now() - 1)
    return longestMs > 0 && (isNew || !isOver)
  }
}
