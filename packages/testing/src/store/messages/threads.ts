import type { Store } from '@postern/core'
import { describe, expect, test } from 'vitest'
import type { IntakeSketch, OpenStore } from '../setup/under-test.ts'
import { inThread, leaseOnlyTurn, sayNothing, sketchAnswer, sketchIntake, withStore } from '../setup/under-test.ts'

export function threadContract(open: OpenStore): void {
  describe('threads', () => {
    describeReferences(open)
    describeScopes(open)
  })
}

/** Admits, works and ends one message; the thread it came to. */
async function placeOf(store: Store, id: string, sketch: IntakeSketch): Promise<{ thread: number; key: string }> {
  await store.admit(sketchIntake(id, sketch), 'c')
  const turn = await leaseOnlyTurn(store)
  await store.commit(turn, sayNothing())
  return { thread: turn.thread, key: turn.content.thread_id }
}

function referring(references: readonly string[]): IntakeSketch {
  return inThread('another thread', { thread: { references } })
}

function describeReferences(open: OpenStore): void {
  test(
    'messages of one thread id share a thread, others do not',
    withStore(open, async ({ store }) => {
      const first = await placeOf(store, 'm1', inThread('t1'))
      expect(first.key).toBe('t1')
      expect(await placeOf(store, 'm2', inThread('t1'))).toEqual(first)
      expect((await placeOf(store, 'm3', inThread('t2'))).thread).not.toBe(first.thread)
    }),
  )
  test(
    'the first known reference decides the thread, whatever thread id the message claims',
    withStore(open, async ({ store }) => {
      const one = await placeOf(store, 'm1', inThread('t1'))
      const two = await placeOf(store, 'm2', inThread('t2'))
      expect(await placeOf(store, 'm3', referring(['unknown', 'm2', 'm1']))).toEqual(two)
      expect(await placeOf(store, 'm4', inThread('t2', { thread: { references: ['m1'] } }))).toEqual(one)
      expect(await placeOf(store, 'm5', referring(['unknown']))).toMatchObject({ key: 'another thread' })
      expect((await store.findMessage('m3'))?.message.thread_id).toBe('t2')
    }),
  )
  test(
    'the store finds a thread by its key, by the aliases of its messages, and by the ids of our answers',
    withStore(open, async ({ store }) => {
      await store.admit(sketchIntake('m1', inThread('t1', { aliases: ['object of m1'] })), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.commit(turn, sketchAnswer(turn, 'hello', [], { aliases: ['<answer@agents.test>'] }))
      for (const [index, name] of ['t1', 'object of m1', 'answer to m1', '<answer@agents.test>'].entries()) {
        expect(await placeOf(store, `n${index}`, referring([name])), name).toEqual({ thread: turn.thread, key: 't1' })
      }
    }),
  )
  test(
    'the store compares a thread id only with thread ids, not with ids of messages',
    withStore(open, async ({ store }) => {
      const first = await placeOf(store, '1', inThread('a'))
      expect(await placeOf(store, '2', inThread('1'))).toEqual({
        thread: expect.not.toBeOneOf([first.thread]),
        key: '1',
      })
    }),
  )
  test(
    'a message cannot take over a name that another thread has',
    withStore(open, async ({ store }) => {
      const first = await placeOf(store, 'm1', inThread('t1'))
      await placeOf(store, 'm2', inThread('t2', { aliases: ['m1', 't1'] }))
      expect(await placeOf(store, 'm3', referring(['m1']))).toEqual(first)
    }),
  )
}

function describeScopes(open: OpenStore): void {
  const elsewhere: readonly (readonly [string, IntakeSketch])[] = [
    ['scopes', { thread: { scope: 'private to ada', references: ['m1'] } }],
    ['agents', { agent: 'help', thread: { references: ['m1'] } }],
    ['channels', { message: { received_via: 'email' }, thread: { references: ['m1'] } }],
  ]
  test.each(elsewhere)('threads of different %s never meet, neither by thread id nor by reference', (_, sketch) =>
    withStore(open, async ({ store }) => {
      const first = await placeOf(store, 'm1', inThread('t1'))
      const other = await placeOf(store, 'm2', inThread('t1', sketch))
      expect(other.thread).not.toBe(first.thread)
      expect(await placeOf(store, 'm3', inThread('t1'))).toEqual(first)
    })(),
  )
}
