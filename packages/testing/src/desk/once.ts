import { describe, expect, test } from 'vitest'
import type { OpenDesk } from './under-test.ts'
import { withDesk } from './under-test.ts'

export function onceContract(open: OpenDesk): void {
  describe('what may be used once', () => {
    test(
      'is used once, and another key is another one',
      withDesk(open, async ({ desk, now }) => {
        expect(await desk.consumeOnce('dpop a', now() + 1_000)).toBe(true)
        expect(await desk.consumeOnce('dpop a', now() + 1_000)).toBe(false)
        expect(await desk.consumeOnce('dpop b', now() + 1_000)).toBe(true)
      }),
    )

    test(
      'is used by one of many who come at the same time',
      withDesk(open, async ({ desk, now }) => {
        const taken = await Promise.all(Array.from({ length: 20 }, () => desk.consumeOnce('dpop a', now() + 1_000)))
        expect(taken.filter(isFirst => isFirst)).toHaveLength(1)
      }),
    )

    test(
      'may be used again once its time is over, not before; a later use does not make the time longer',
      withDesk(open, async ({ desk, now, advance }) => {
        const until = now() + 1_000
        await desk.consumeOnce('dpop a', until)
        advance(1_000)
        expect(await desk.consumeOnce('dpop a', until + 60_000)).toBe(false)
        advance(1)
        expect(await desk.consumeOnce('dpop a', until + 60_000)).toBe(true)
      }),
    )

    test(
      'stays used after a crash',
      withDesk(open, async under => {
        await under.desk.consumeOnce('dpop a', under.now() + 1_000)
        const next = await under.reopen?.()
        if (!next) return
        expect(await next.consumeOnce('dpop a', under.now() + 1_000)).toBe(false)
        await next.close()
      }),
    )
  })
}
