import type { EntryBody, OwnerQuota } from '@postern/transcript'
import { describe, expect, test } from 'vitest'
import type { Dice } from '../../../test/dice.ts'
import { createDice } from '../../../test/dice.ts'
import { openStoreUnderTest } from '../../../test/open-test-store.ts'
import { findInconsistencies } from '../../../test/soundness.ts'
import type { GatewayStore } from '../../index.ts'

const quota: OwnerQuota = { threads: 4, entries: 30, bytes: 12_000 }

function sketchEntries(thread_id: string, ids: readonly string[], size: number): readonly EntryBody[] {
  return ids.map(entry_id => ({
    entry_id,
    thread_id,
    ...({ scope: 'conversation', kind: 'text', role: 'user' } as const),
    content: { parts: [{ kind: 'text', mime: 'text/plain', content: 'ü'.repeat(size) }] },
    at: '2026-03-13T10:00:00.000Z',
  }))
}

/** Changes threads at random within their quota. `countRefused` returns the number of changes that would have exceeded it. */
function createRandomChanges({ transcript }: GatewayStore, { roll, oneIn, createName }: Dice) {
  let refusedCount = 0
  const quotaErrorPattern = /^Cannot store: with it you would have more than \d+ (threads|entries|bytes)$/

  function countRefusal(error: { readonly code?: string; readonly message?: string }): void {
    // A thread that is forgotten at the same time no longer exists.
    if (error.code === 'forbidden') return
    expect(error).toMatchObject({ code: 'too_large', message: expect.stringMatching(quotaErrorPattern) })
    refusedCount += 1
  }

  async function change(owner: string): Promise<unknown> {
    const alias = { transport: 'x', key: `k${roll(6)}` }
    const thread = await transcript.findThread(owner, alias)
    if (!thread) return transcript.openThread(owner, alias, quota)
    if (oneIn(8)) return transcript.forget(thread)
    const ids = Array.from({ length: roll(8) }, () => (oneIn(4) ? 'repeated-id' : createName()))
    const entries = sketchEntries(thread.thread_id, [...new Set(ids)], roll(400))
    return oneIn(3) ? transcript.replace(thread, entries, { quota }) : transcript.append(thread, entries, { quota })
  }

  return { change: (owner: string) => change(owner).catch(countRefusal), countRefused: () => refusedCount }
}

function isWithinQuota(usage: OwnerQuota): boolean {
  return usage.threads <= quota.threads && usage.entries <= quota.entries && usage.bytes <= quota.bytes
}

describe('the usage of an owner', () => {
  test.each([1, 2, 3, 4, 5])(
    'equals the sum of a full scan, and never exceeds the quota, for any simultaneous calls (seed %i)',
    async seed => {
      const { store, file } = await openStoreUnderTest()
      const { transcript } = store
      const dice = createDice(seed)
      const { change, countRefused } = createRandomChanges(store, dice)
      for (let step = 0; step < 60; step += 1) {
        await Promise.all(Array.from({ length: 1 + dice.roll(4) }, () => change(dice.oneIn(4) ? 'bob' : 'ann')))
        for (const owner of ['ann', 'bob']) expect(await transcript.readUsage(owner)).toSatisfy(isWithinQuota)
      }
      expect(findInconsistencies(file)).toEqual([])
      expect(countRefused()).toBeGreaterThan(0)
      for (const owner of ['ann', 'bob']) await transcript.forgetOwner(owner)
      expect(await transcript.readUsage('ann')).toEqual({ threads: 0, entries: 0, bytes: 0 })
      expect(findInconsistencies(file)).toEqual([])
      await store.close()
    },
  )

  test('does not change when replace() refuses an oversized list', async () => {
    const { store } = await openStoreUnderTest()
    const { transcript } = store
    const thread = await transcript.openThread('ann', { transport: 'x', key: 'k' }, quota)
    await transcript.replace(thread, sketchEntries(thread.thread_id, ['first'], 10), { quota })
    const tooManyIds = Array.from({ length: 31 }, (_, index) => `e${index}`)
    await expect(
      transcript.replace(thread, sketchEntries(thread.thread_id, tooManyIds, 1), { quota }),
    ).rejects.toMatchObject({
      code: 'too_large',
      message: 'Cannot store: with it you would have more than 30 entries',
    })
    expect((await transcript.read(thread)).map(({ entry_id }) => entry_id)).toEqual(['first'])
    expect((await transcript.readUsage('ann')).entries).toBe(1)
    await store.close()
  })
})
