import type { EntryBody, OwnerQuota } from '@postern/transcript'
import { describe, expect, test } from 'vitest'
import type { Dice } from '../../../test/dice.ts'
import { createDice } from '../../../test/dice.ts'
import { openStoreUnderTest } from '../../../test/open-test-store.ts'
import { findUnsound } from '../../../test/soundness.ts'
import type { GatewayStore } from '../../index.ts'

const most: OwnerQuota = { threads: 4, entries: 30, bytes: 12_000 }

function sketchEntries(thread_id: string, ids: readonly string[], size: number): readonly EntryBody[] {
  return ids.map(entry_id => ({
    entry_id,
    thread_id,
    ...({ scope: 'conversation', kind: 'text', role: 'user' } as const),
    content: { parts: [{ kind: 'text', mime: 'text/plain', content: 'ü'.repeat(size) }] },
    at: '2026-03-13T10:00:00.000Z',
  }))
}

/** Changes threads at random within their quota. `countRefused` counts the changes that exceeded it. */
function createChanger({ transcript }: GatewayStore, { roll, oneIn, name }: Dice) {
  let refused = 0
  const tooMuch = /^Cannot store: with it you would have more than \d+ (threads|entries|bytes)$/

  function tolerate(error: { readonly code?: string; readonly message?: string }): void {
    // A thread that is forgotten at the same time no longer exists.
    if (error.code === 'forbidden') return
    expect(error).toMatchObject({ code: 'too_large', message: expect.stringMatching(tooMuch) })
    refused += 1
  }

  async function change(owner: string): Promise<unknown> {
    const alias = { transport: 'x', key: `k${roll(6)}` }
    const thread = await transcript.findThread(owner, alias)
    if (!thread) return transcript.openThread(owner, alias, most)
    if (oneIn(8)) return transcript.forget(thread)
    const ids = Array.from({ length: roll(8) }, () => (oneIn(4) ? 'again' : name()))
    const entries = sketchEntries(thread.thread_id, [...new Set(ids)], roll(400))
    return oneIn(3)
      ? transcript.replace(thread, entries, { quota: most })
      : transcript.append(thread, entries, { quota: most })
  }

  return { change: (owner: string) => change(owner).catch(tolerate), countRefused: () => refused }
}

function isWithin(used: OwnerQuota): boolean {
  return used.threads <= most.threads && used.entries <= most.entries && used.bytes <= most.bytes
}

describe('the usage of an owner', () => {
  test.each([1, 2, 3, 4, 5])(
    'equals a scan, and never exceeds the quota, for any simultaneous calls (seed %i)',
    async seed => {
      const { store, file } = await openStoreUnderTest()
      const { transcript } = store
      const dice = createDice(seed)
      const { change, countRefused } = createChanger(store, dice)
      for (let step = 0; step < 60; step += 1) {
        await Promise.all(Array.from({ length: 1 + dice.roll(4) }, () => change(dice.oneIn(4) ? 'bob' : 'ann')))
        for (const owner of ['ann', 'bob']) expect(await transcript.readUsage(owner)).toSatisfy(isWithin)
      }
      expect(findUnsound(file)).toEqual([])
      expect(countRefused()).toBeGreaterThan(0)
      for (const owner of ['ann', 'bob']) await transcript.forgetOwner(owner)
      expect(await transcript.readUsage('ann')).toEqual({ threads: 0, entries: 0, bytes: 0 })
      expect(findUnsound(file)).toEqual([])
      await store.close()
    },
  )

  test('does not change when replace() refuses an oversized list', async () => {
    const { store } = await openStoreUnderTest()
    const { transcript } = store
    const thread = await transcript.openThread('ann', { transport: 'x', key: 'k' }, most)
    await transcript.replace(thread, sketchEntries(thread.thread_id, ['first'], 10), { quota: most })
    const many = Array.from({ length: 31 }, (_, index) => `e${index}`)
    await expect(
      transcript.replace(thread, sketchEntries(thread.thread_id, many, 1), { quota: most }),
    ).rejects.toMatchObject({
      code: 'too_large',
      message: 'Cannot store: with it you would have more than 30 entries',
    })
    expect((await transcript.read(thread)).map(({ entry_id }) => entry_id)).toEqual(['first'])
    expect((await transcript.readUsage('ann')).entries).toBe(1)
    await store.close()
  })
})
