// Tests that a single-use key works once, for one of many callers.
import { describe, expect, test } from 'vitest'
import type { OpenStore } from '../setup/under-test.ts'
import { withStore } from '../setup/under-test.ts'

export function singleUseContract(openStore: OpenStore): void {
  describe('a single-use key', () => {
    test(
      'works once, separately from other keys',
      withStore(openStore, async ({ store, now }) => {
        expect(await store.consumeOnce('dpop a', now() + 1_000)).toBe(true)
        expect(await store.consumeOnce('dpop a', now() + 1_000)).toBe(false)
        expect(await store.consumeOnce('dpop b', now() + 1_000)).toBe(true)
      }),
    )

    test(
      'works for one of many simultaneous callers',
      withStore(openStore, async ({ store, now }) => {
        const results = await Promise.all(Array.from({ length: 20 }, () => store.consumeOnce('dpop a', now() + 1_000)))
        expect(results.filter(isFirst => isFirst)).toHaveLength(1)
      }),
    )

    test(
      'works again only after its time, which a later use does not extend',
      withStore(openStore, async ({ store, now, advance }) => {
        const expiresAt = now() + 1_000
        await store.consumeOnce('dpop a', expiresAt)
        advance(1_000)
        expect(await store.consumeOnce('dpop a', expiresAt + 60_000)).toBe(false)
        advance(1)
        expect(await store.consumeOnce('dpop a', expiresAt + 60_000)).toBe(true)
      }),
    )

    test(
      'stays used after a crash',
      withStore(openStore, async storeSetup => {
        await storeSetup.store.consumeOnce('dpop a', storeSetup.now() + 1_000)
        const next = await storeSetup.reopen?.()
        if (!next) return
        expect(await next.consumeOnce('dpop a', storeSetup.now() + 1_000)).toBe(false)
        await next.close()
      }),
    )
  })
}
