// Tests how a store assigns messages to threads by references, scopes and aliases.
import type { Store } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import { sketchPost } from '../setup/action-sketches.ts'
import type { IntakeSketch, OpenStore } from '../setup/under-test.ts'
import { inThread, leaseOnlyTurn, sayNothing, sketchAnswer, sketchIntake, withStore } from '../setup/under-test.ts'

export function threadContract(openStore: OpenStore): void {
  describe('threads', () => {
    describeReferences(openStore)
    describeScopes(openStore)
    describeIds(openStore)
  })
}

interface AssignedThread {
  readonly thread: number
  readonly id: string
  readonly source: string | undefined
}

/** Admits, answers and ends one message, and returns its thread. */
async function threadOf(store: Store, id: string, sketch: IntakeSketch): Promise<AssignedThread> {
  await store.admit(sketchIntake(id, sketch), 'c')
  const turn = await leaseOnlyTurn(store)
  await store.commit(turn, sayNothing())
  const { thread, content } = turn
  return { thread, id: content.thread_id, source: content.thread_source }
}

function referring(references: readonly string[]): IntakeSketch {
  return inThread('another thread', { thread: { references } })
}

function describeReferences(openStore: OpenStore): void {
  test(
    'messages of one source share a thread, and others do not',
    withStore(openStore, async ({ store }) => {
      const firstThread = await threadOf(store, 'm1', inThread('t1'))
      expect(firstThread.source).toBe('t1')
      expect(await threadOf(store, 'm2', inThread('t1'))).toEqual(firstThread)
      expect((await threadOf(store, 'm3', inThread('t2'))).thread).not.toBe(firstThread.thread)
    }),
  )
  test(
    'the first known reference decides the thread, even if the message claims another source',
    withStore(openStore, async ({ store }) => {
      const firstThread = await threadOf(store, 'm1', inThread('t1'))
      const secondThread = await threadOf(store, 'm2', inThread('t2'))
      expect(await threadOf(store, 'm3', referring(['unknown', 'm2', 'm1']))).toEqual(secondThread)
      expect(await threadOf(store, 'm4', inThread('t2', { thread: { references: ['m1'] } }))).toEqual(firstThread)
      expect(await threadOf(store, 'm5', referring(['unknown']))).toMatchObject({ source: 'another thread' })
      expect((await store.findMessage('m3'))?.message.thread_source).toBe('t2')
    }),
  )
  test(
    'the store finds a thread by its key, its messages’ aliases, and our answers’ ids',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', inThread('t1', { aliases: ['object of m1'] })), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.commit(turn, sketchAnswer(turn, 'hello', [], { aliases: ['<answer@agents.test>'] }))
      for (const [index, name] of ['t1', 'object of m1', 'answer to m1', '<answer@agents.test>'].entries()) {
        expect(await threadOf(store, `n${index}`, referring([name])), name).toMatchObject({
          thread: turn.thread,
          source: 't1',
        })
      }
    }),
  )
  test(
    'the store compares a source only with sources, not with message ids',
    withStore(openStore, async ({ store }) => {
      const firstThread = await threadOf(store, '1', inThread('a'))
      expect(await threadOf(store, '2', inThread('1'))).toMatchObject({
        thread: expect.not.toBeOneOf([firstThread.thread]),
        source: '1',
      })
    }),
  )
  test(
    'a message cannot take over another thread’s name',
    withStore(openStore, async ({ store }) => {
      const firstThread = await threadOf(store, 'm1', inThread('t1'))
      await threadOf(store, 'm2', inThread('t2', { aliases: ['m1', 't1'] }))
      expect(await threadOf(store, 'm3', referring(['m1']))).toEqual(firstThread)
    }),
  )
}

function describeScopes(openStore: OpenStore): void {
  const elsewhere: readonly (readonly [string, IntakeSketch])[] = [
    ['scopes', { thread: { scope: 'private to ada', references: ['m1'] } }],
    ['agents', { agent: 'help', thread: { references: ['m1'] } }],
    ['channels', { message: { received_via: 'email' }, thread: { references: ['m1'] } }],
  ]
  test.each(elsewhere)('threads of different %s never meet, by source or by reference', (_, sketch) =>
    withStore(openStore, async ({ store }) => {
      const firstThread = await threadOf(store, 'm1', inThread('t1'))
      const otherThread = await threadOf(store, 'm2', inThread('t1', sketch))
      expect(otherThread.thread).not.toBe(firstThread.thread)
      expect(otherThread.id).not.toBe(firstThread.id)
      expect(await threadOf(store, 'm3', inThread('t1'))).toEqual(firstThread)
    })(),
  )
}

function describeIds(openStore: OpenStore): void {
  test(
    'a thread has one random id for all its messages, independent of names',
    withStore(openStore, async ({ store }) => {
      const firstThread = await threadOf(store, 'm1', inThread('t1'))
      expect(firstThread.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(await threadOf(store, 'm2', referring(['m1']))).toEqual(firstThread)
      for (const id of ['m1', 'm2']) expect((await store.findMessage(id))?.message.thread_id, id).toBe(firstThread.id)
    }),
  )
  test(
    'an agent’s response and post have the thread id of its messages',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', inThread('t1')), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.commit(turn, sketchAnswer(turn, 'hello'))
      expect((await store.findResponse('answer to m1'))?.response.thread_id).toBe(turn.content.thread_id)
      await store.storeActions([sketchPost('p1', 'news')], 'c')
      const reply = await threadOf(store, 'm2', inThread('elsewhere', { thread: { references: ['p1'] } }))
      expect((await store.findResponse('p1'))?.response.thread_id).toBe(reply.id)
    }),
  )
  test(
    'a thread that begins again under a deleted name has another id',
    withStore(openStore, async ({ store }) => {
      const ownThread = inThread('t1', { thread: { scope: 'ada' }, authorship: { author: 'ada', object: 'o1' } })
      const firstThread = await threadOf(store, 'm1', ownThread)
      await store.forgetPerson({ addresses: [{ via: 'a2a', address: '@ada@peer.test', subject: 'ada' }] })
      const next = await threadOf(store, 'm2', inThread('t1', { thread: { scope: 'ada' } }))
      expect(next.id).not.toBe(firstThread.id)
    }),
  )
}
