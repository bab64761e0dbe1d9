// Tests quotas of threads and budgets of senders.
import type { Store } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import type { IntakeSketch, OpenStore } from '../setup/under-test.ts'
import {
  inThread,
  leaseOnlyTurn,
  leaseTurns,
  sayNothing,
  sketchAnswer,
  sketchIntake,
  withStore,
} from '../setup/under-test.ts'

export function quotaContract(openStore: OpenStore): void {
  describe('quotas of threads', () => {
    describeQuotas(openStore)
    describeRapidQuotas(openStore)
    describeSharedQuotas(openStore)
  })
}

function describeQuotas(openStore: OpenStore): void {
  test(
    'the store keeps and flags messages beyond a thread’s quota, until its period ends',
    withStore(openStore, async ({ store, advance }) => {
      const quota = { turns: 2, withinMs: 1_000 }
      for (const id of ['m1', 'm2', 'm3']) await store.admit(sketchIntake(id, inThread('t', { quota })), 'c')
      await store.admit(sketchIntake('other', inThread('u', { quota })), 'c')
      await store.admit(sketchIntake('human', inThread('t')), 'c')
      expect(await store.findMessage('m3')).toMatchObject({ state: 'ignored', flags: ['loop_guard'] })
      for (const id of ['m1', 'm2', 'other', 'human']) {
        expect(await store.findMessage(id)).toMatchObject({ state: 'received', flags: [] })
      }
      advance(1_000)
      await store.admit(sketchIntake('m4', inThread('t', { quota })), 'c')
      expect(await store.findMessage('m4')).toMatchObject({ state: 'received' })
      // A whole new period has begun, not the rest of the old one.
      for (const id of ['m5', 'm6']) await store.admit(sketchIntake(id, inThread('t', { quota })), 'c')
      expect(await flagsOf(store, ['m5', 'm6'])).toEqual(['received', 'ignored loop_guard'])
    }),
  )
  test(
    'a clock that goes back a day leaves no quota or budget exhausted',
    withStore(openStore, async ({ store, advance }) => {
      const quota = { turns: 1, withinMs: 60_000 }
      const budgets = [{ key: 'k', turns: 1, withinMs: 60_000, flag: 'spent' }]
      const admit = async (id: string, sketch: IntakeSketch) => {
        await store.admit(sketchIntake(id, inThread(id.startsWith('q') ? 't' : id, sketch)), 'c')
      }
      for (const id of ['q1', 'q2']) await admit(id, { quota })
      for (const id of ['b1', 'b2']) await admit(id, { budgets })
      advance(-86_400_000)
      for (const id of ['q3', 'q4']) await admit(id, { quota })
      for (const id of ['b3', 'b4']) await admit(id, { budgets })
      expect(await flagsOf(store, ['q1', 'q2', 'q3', 'q4'])).toEqual([
        'received',
        'ignored loop_guard',
        'received',
        'ignored loop_guard',
      ])
      expect(await flagsOf(store, ['b1', 'b2', 'b3', 'b4'])).toEqual([
        'received',
        'ignored spent',
        'received',
        'ignored spent',
      ])
    }),
  )
}

/** Admits a message and answers it at once. */
async function converse(store: Store, id: string, thread: string): Promise<void> {
  await store.admit(sketchIntake(id, inThread(thread)), 'c')
  const turn = await leaseOnlyTurn(store)
  await store.commit(turn, sketchAnswer(turn, 'yes'))
}

async function flagsOf(store: Store, ids: readonly string[]): Promise<readonly unknown[]> {
  const records = await Promise.all(ids.map(id => store.findMessage(id)))
  return records.map(record => [record?.state, ...(record?.flags ?? [])].join(' '))
}

function describeRapidQuotas(openStore: OpenStore): void {
  const quota = { turns: 2, withinMs: 60_000, automatedReplyMs: 3_000 }
  const rapidSketch = { quota, disposition: 'answer' } as const
  test(
    'only messages right after an answer count for the rapid quota',
    withStore(openStore, async ({ store, advance }) => {
      await converse(store, 'first', 't')
      for (const id of ['m1', 'm2', 'm3']) await store.admit(sketchIntake(id, inThread('t', rapidSketch)), 'c')
      advance(3_001)
      await store.admit(sketchIntake('slow', inThread('t', rapidSketch)), 'c')
      await store.admit(sketchIntake('other', inThread('u', rapidSketch)), 'c')
      expect(await flagsOf(store, ['m1', 'm2', 'm3'])).toEqual(['received', 'received', 'ignored loop_guard'])
      expect(await flagsOf(store, ['slow', 'other'])).toEqual(['received', 'received'])
    }),
  )
  test(
    'many messages before the first answer, or later after the last one, are not rapid',
    withStore(openStore, async ({ store, advance }) => {
      await converse(store, 'answered', 'u')
      advance(3_001)
      const ids = (name: string) => [0, 1, 2, 3, 4].map(count => `${name} ${count}`)
      for (const id of ids('early')) await store.admit(sketchIntake(id, inThread('t', rapidSketch)), 'c')
      for (const id of ids('late')) await store.admit(sketchIntake(id, inThread('u', rapidSketch)), 'c')
      const flags = await flagsOf(store, [...ids('early'), ...ids('late')])
      expect(new Set(flags)).toEqual(new Set(['received']))
    }),
  )
  test(
    'a message after a silent turn is not rapid',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('unanswered', inThread('t')), 'c')
      await store.commit(await leaseOnlyTurn(store), sayNothing())
      for (const id of ['m1', 'm2', 'm3']) await store.admit(sketchIntake(id, inThread('t', rapidSketch)), 'c')
      expect(await flagsOf(store, ['m1', 'm2', 'm3'])).toEqual(['received', 'received', 'received'])
    }),
  )
  test(
    'rapid senders regain their quota with time',
    withStore(openStore, async ({ store, advance }) => {
      await converse(store, 'first', 't')
      for (const id of ['m1', 'm2', 'm3']) await store.admit(sketchIntake(id, inThread('t', rapidSketch)), 'c')
      advance(60_000)
      const turn = await leaseOnlyTurn(store)
      await store.commit(turn, sketchAnswer(turn, 'yes'))
      await store.admit(sketchIntake('m4', inThread('t', rapidSketch)), 'c')
      expect(await flagsOf(store, ['m3', 'm4'])).toEqual(['ignored loop_guard', 'received'])
    }),
  )
}

/** Sketches a message of that author. */
function fromSender(address: string, sketch: IntakeSketch): IntakeSketch {
  const sender = { address, auth_method: 'none', verified: false } as const
  return { ...sketch, message: { ...sketch.message, sender } }
}

function describeSharedQuotas(openStore: OpenStore): void {
  const quota = { turns: 2, withinMs: 60_000 }
  test(
    'all speakers share a thread’s quota, but each has a separate rapid quota',
    withStore(openStore, async ({ store }) => {
      const authors = ['@ada@peer.test', '@bob@peer.test', '@cid@peer.test']
      for (const [index, author] of authors.entries())
        await store.admit(sketchIntake(`shared ${index}`, fromSender(author, inThread('t', { quota }))), 'c')
      expect(await flagsOf(store, ['shared 0', 'shared 1', 'shared 2'])).toEqual([
        'received',
        'received',
        'ignored loop_guard',
      ])
      await store.admit(sketchIntake('first', inThread('u')), 'c')
      const firstTurn = (await leaseTurns(store)).find(({ content }) => content.id === 'first')
      if (firstTurn) await store.commit(firstTurn, sketchAnswer(firstTurn, 'yes'))
      const rapidSketch = { quota: { ...quota, automatedReplyMs: 3_000 }, disposition: 'answer' } as const
      for (const [index, author] of authors.entries())
        await store.admit(sketchIntake(`swift ${index}`, fromSender(author, inThread('u', rapidSketch))), 'c')
      expect(await flagsOf(store, ['swift 0', 'swift 1', 'swift 2'])).toEqual(['received', 'received', 'received'])
    }),
  )
  test(
    'a quota of zero admits nothing, and a message at the last moment of the rapid time is rapid',
    withStore(openStore, async ({ store, advance }) => {
      await store.admit(sketchIntake('none', inThread('t', { quota: { turns: 0, withinMs: 1_000 } })), 'c')
      expect(await flagsOf(store, ['none'])).toEqual(['ignored loop_guard'])
      await converse(store, 'first', 'u')
      advance(3_000)
      const rapidSketch = {
        quota: { turns: 1, withinMs: 60_000, automatedReplyMs: 3_000 },
        disposition: 'answer',
      } as const
      for (const id of ['m1', 'm2']) await store.admit(sketchIntake(id, inThread('u', rapidSketch)), 'c')
      expect(await flagsOf(store, ['m1', 'm2'])).toEqual(['received', 'ignored loop_guard'])
    }),
  )
}
