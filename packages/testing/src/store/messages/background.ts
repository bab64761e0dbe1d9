// Tests that a store keeps the posts before a message as background of its thread.

import { isoTime } from '@postern/message'
import type { BackgroundEntry, Entry, Store, Turn } from '@postern/pipeline'
import { withdrawalMemoryMs } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import type { OpenStore } from '../setup/under-test.ts'
import {
  inThread,
  leaseMs,
  leaseOnlyTurn,
  leaseTurns,
  sayNothing,
  sketchAnswer,
  sketchIntake,
  withStore,
} from '../setup/under-test.ts'

export function backgroundContract(openStore: OpenStore): void {
  describe('background', () => {
    describeOrder(openStore)
    describeKnown(openStore)
    describeNames(openStore)
    describeTakenBack(openStore)
  })
}

const bob = 'https://peer.test/bob'

function sketchBackground(id: string, members: Partial<BackgroundEntry> = {}): BackgroundEntry {
  return {
    nativeId: id,
    author: { address: '@bob@peer.test', display_name: 'Bob' },
    parts: [{ kind: 'text', mime: 'text/plain', content: `words of ${id}` }],
    at: isoTime(Date.UTC(2025, 0, 1)),
    principal: bob,
    ...members,
  }
}

/** Reads the history that an agent gets with this turn. */
function recall(store: Store, { thread, message }: Pick<Turn, 'thread' | 'message'>): Promise<readonly Entry[]> {
  return store.readHistory({ thread, beforeMessage: message, head: 3, tail: 99 })
}

async function recallIds(
  store: Store,
  turn: Pick<Turn, 'thread' | 'message'>,
): Promise<readonly (string | undefined)[]> {
  return (await recall(store, turn)).map(({ nativeId }) => nativeId)
}

async function leaseNew(store: Store, id: string, source = 't'): Promise<Turn> {
  await store.admit(sketchIntake(id, inThread(source)), 'c')
  return leaseOnlyTurn(store)
}

function describeOrder(openStore: OpenStore): void {
  test(
    'the background stands before the message, in the given order, complete',
    withStore(openStore, async ({ store }) => {
      const turn = await leaseNew(store, 'm1')
      await store.addBackground(
        turn,
        ['p1', 'p2', 'p3'].map(id => sketchBackground(id)),
      )
      const history = await recall(store, turn)
      expect(history.map(({ nativeId }) => nativeId)).toEqual(['p1', 'p2', 'p3'])
      const { principal: _, ...backgroundMessage } = sketchBackground('p1')
      expect(history[0]).toMatchObject({ ...backgroundMessage, role: 'user' })
      expect(history[0]?.author).toEqual(backgroundMessage.author)
    }),
  )
  test(
    'the background stands after earlier messages and answers, and before waiting messages',
    withStore(openStore, async ({ store }) => {
      const firstTurn = await leaseNew(store, 'm1')
      await store.admit(sketchIntake('m2', inThread('t')), 'c')
      const { message: third } = await store.admit(sketchIntake('m3', inThread('t')), 'c')
      await store.commit(firstTurn, sketchAnswer(firstTurn, 'hello'))
      const secondTurn = await leaseOnlyTurn(store)
      await store.addBackground(secondTurn, [sketchBackground('p1'), sketchBackground('p2')])
      const idsBefore = ['m1', 'answer to m1', 'p1', 'p2']
      expect(await recallIds(store, secondTurn)).toEqual(idsBefore)
      expect(await recallIds(store, { thread: secondTurn.thread, message: third })).toEqual([...idsBefore, 'm2'])
      expect(await recallIds(store, firstTurn)).toEqual([])
    }),
  )
  test(
    'both ends of a long thread include the background in this order',
    withStore(openStore, async ({ store }) => {
      const turn = await leaseNew(store, 'm1')
      const ids = Array.from({ length: 30 }, (_, index) => `p${index}`)
      await store.addBackground(
        turn,
        ids.map(id => sketchBackground(id)),
      )
      const { thread, message: historyEnd } = turn
      const ends = await store.readHistory({ thread, beforeMessage: historyEnd, head: 3, tail: 4 })
      expect(ends.map(({ nativeId }) => nativeId)).toEqual([...ids.slice(0, 3), ...ids.slice(-4)])
    }),
  )
}

function describeKnown(openStore: OpenStore): void {
  test(
    'the store skips known background by any id, in messages and answers',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', inThread('t', { aliases: ['object of m1'] })), 'c')
      const firstTurn = await leaseOnlyTurn(store)
      await store.addBackground(firstTurn, [sketchBackground('p1')])
      await store.commit(firstTurn, sketchAnswer(firstTurn, 'hello', [], { aliases: ['object of the answer'] }))
      const turn = await leaseNew(store, 'm2')
      const ids = ['p1', 'm1', 'object of m1', 'object of the answer', 'm2']
      for (const id of ids) expect(await store.hasEntry(turn, id), id).toBe(true)
      expect(await store.hasEntry(turn, 'p2')).toBe(false)
      await store.addBackground(
        turn,
        [...ids, 'p2', 'p2'].map(id => sketchBackground(id)),
      )
      expect(await recallIds(store, turn)).toEqual(['p1', 'm1', 'answer to m1', 'p2'])
    }),
  )
  test(
    'a post of another thread is new in this one',
    withStore(openStore, async ({ store }) => {
      const firstTurn = await leaseNew(store, 'm1', 't')
      await store.addBackground(firstTurn, [sketchBackground('p1')])
      await store.commit(firstTurn, sayNothing())
      const turn = await leaseNew(store, 'm2', 'u')
      expect(await store.hasEntry(turn, 'p1')).toBe(false)
      expect(await store.hasEntry(turn, 'm1')).toBe(false)
      await store.addBackground(turn, [sketchBackground('p1')])
      expect(await recallIds(store, turn)).toEqual(['p1'])
      expect(await store.hasEntry(turn, 'p1')).toBe(true)
    }),
  )
  test(
    'the background survives a crash once, and a repeated turn may bring it again',
    withStore(openStore, async storeSetup => {
      if (!storeSetup.reopen) return
      const turn = await leaseNew(storeSetup.store, 'm1')
      await storeSetup.store.addBackground(turn, [sketchBackground('p1'), sketchBackground('p2', { isQuoted: true })])
      const store = await storeSetup.reopen()
      storeSetup.advance(leaseMs)
      try {
        const secondLease = await leaseOnlyTurn(store)
        await store.addBackground(
          secondLease,
          ['p1', 'p2', 'p3'].map(id => sketchBackground(id)),
        )
        expect(await recallIds(store, secondLease)).toEqual(['p1', 'p2', 'p3'])
      } finally {
        await store.close()
      }
    }),
  )
  test(
    'a turn without a lease, or after its end, adds no background, so that the recorded input stays',
    withStore(openStore, async ({ store, advance }) => {
      const lostTurn = await leaseNew(store, 'm1')
      advance(leaseMs)
      const turn = await leaseOnlyTurn(store)
      await expect(store.addBackground(lostTurn, [sketchBackground('p1')])).rejects.toMatchObject({ name: 'LeaseLost' })
      await store.commit(turn, sketchAnswer(turn, 'hello'))
      await expect(store.addBackground(turn, [sketchBackground('p1')])).rejects.toMatchObject({ name: 'LeaseLost' })
      expect(await recallIds(store, turn)).toEqual([])
    }),
  )
}

function describeNames(openStore: OpenStore): void {
  const replyTo = (id: string, agent = 'echo') =>
    sketchIntake(`reply to ${id}`, { agent, ...inThread('elsewhere', { thread: { references: [id] } }) })
  test(
    'a later reply to a background post joins its thread, unlike a reply to a mere quotation',
    withStore(openStore, async ({ store }) => {
      const turn = await leaseNew(store, 'm1')
      await store.addBackground(turn, [sketchBackground('p1'), sketchBackground('q1', { isQuoted: true })])
      await store.commit(turn, sayNothing())
      await store.admit(replyTo('p1'), 'c')
      await store.admit(replyTo('q1'), 'c')
      const threads = (await leaseTurns(store)).map(({ thread, content }) => [content.id, thread === turn.thread])
      expect(Object.fromEntries(threads)).toEqual({ 'reply to p1': true, 'reply to q1': false })
    }),
  )
  test(
    'the background takes no name from another thread, and gives none to another agent',
    withStore(openStore, async ({ store }) => {
      const firstTurn = await leaseNew(store, 'm1', 't')
      await store.commit(firstTurn, sayNothing())
      const secondTurn = await leaseNew(store, 'm2', 'u')
      await store.addBackground(secondTurn, [sketchBackground('m1'), sketchBackground('p1')])
      await store.commit(secondTurn, sayNothing())
      await store.admit(replyTo('m1'), 'c')
      expect((await leaseOnlyTurn(store)).thread).toBe(firstTurn.thread)
      await store.admit(replyTo('p1', 'help'), 'c')
      expect((await leaseOnlyTurn(store)).thread).not.toBe(secondTurn.thread)
    }),
  )
}

function describeTakenBack(openStore: OpenStore): void {
  const forget = (store: Store, author = bob, object = 'p1') =>
    store.withdraw('a2a', [{ kind: 'forget', author, object }])
  test(
    'a withdrawal by its author removes a background post from every thread permanently',
    withStore(openStore, async ({ store, advance }) => {
      const firstTurn = await leaseNew(store, 'm1', 't')
      await store.addBackground(firstTurn, [sketchBackground('p1'), sketchBackground('p2')])
      const secondTurn = await leaseNew(store, 'm2', 'u')
      await store.addBackground(secondTurn, [sketchBackground('p1', { isQuoted: true })])
      await forget(store, 'mallory')
      expect(await recallIds(store, firstTurn)).toEqual(['p1', 'p2'])
      await forget(store)
      advance(withdrawalMemoryMs)
      const late = await store.leaseTurns({ holder: 'worker', limit: 9, leaseMs })
      for (const turn of late) await store.addBackground(turn, [sketchBackground('p1')])
      expect(late).toHaveLength(2)
      expect(await recallIds(store, firstTurn)).toEqual(['p2'])
      expect(await recallIds(store, secondTurn)).toEqual([])
    }),
  )
  test(
    'the store skips a background post whose withdrawal came first',
    withStore(openStore, async ({ store }) => {
      await forget(store)
      const turn = await leaseNew(store, 'm1')
      await store.addBackground(turn, [sketchBackground('p1'), sketchBackground('p2')])
      expect(await recallIds(store, turn)).toEqual(['p2'])
    }),
  )
  test(
    'a deleted author leaves no background posts, and others’ posts stay',
    withStore(openStore, async ({ store }) => {
      const turn = await leaseNew(store, 'm1')
      const entries = Array.from({ length: 450 }, (_, index) => sketchBackground(`p${index}`))
      await store.addBackground(turn, [...entries, sketchBackground('other', { principal: 'https://peer.test/eve' })])
      await store.withdraw('a2a', [{ kind: 'forget_peer', peer: bob }])
      expect(await recallIds(store, turn)).toEqual(['other'])
    }),
  )
}
