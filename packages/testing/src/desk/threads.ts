import type { Desk } from '@postern/core'
import { describe, expect, test } from 'vitest'
import type { IntakeSketch, OpenDesk } from './under-test.ts'
import { inThread, leaseOnlyTurn, sayNothing, sketchAnswer, sketchIntake, withDesk } from './under-test.ts'

export function threadContract(open: OpenDesk): void {
  describe('threads', () => {
    describeReferences(open)
    describeScopes(open)
  })
}

/** Admits, works and ends one message; the thread it came to. */
async function placeOf(desk: Desk, id: string, sketch: IntakeSketch): Promise<{ thread: number; key: string }> {
  await desk.admit(sketchIntake(id, sketch), 'c')
  const turn = await leaseOnlyTurn(desk)
  await desk.commit(turn, sayNothing())
  return { thread: turn.thread, key: turn.content.thread_id }
}

function referring(references: readonly string[]): IntakeSketch {
  return inThread('another thread', { thread: { references } })
}

function describeReferences(open: OpenDesk): void {
  test(
    'messages of one thread id share a thread, others do not',
    withDesk(open, async ({ desk }) => {
      const first = await placeOf(desk, 'm1', inThread('t1'))
      expect(first.key).toBe('t1')
      expect(await placeOf(desk, 'm2', inThread('t1'))).toEqual(first)
      expect((await placeOf(desk, 'm3', inThread('t2'))).thread).not.toBe(first.thread)
    }),
  )
  test(
    'the first known reference decides the thread, whatever thread id the message claims',
    withDesk(open, async ({ desk }) => {
      const one = await placeOf(desk, 'm1', inThread('t1'))
      const two = await placeOf(desk, 'm2', inThread('t2'))
      expect(await placeOf(desk, 'm3', referring(['unknown', 'm2', 'm1']))).toEqual(two)
      expect(await placeOf(desk, 'm4', inThread('t2', { thread: { references: ['m1'] } }))).toEqual(one)
      expect(await placeOf(desk, 'm5', referring(['unknown']))).toMatchObject({ key: 'another thread' })
      expect((await desk.findMessage('m3'))?.message.thread_id).toBe('t2')
    }),
  )
  test(
    'a thread is known by its key, by the aliases of its messages, and by the ids of our answers',
    withDesk(open, async ({ desk }) => {
      await desk.admit(sketchIntake('m1', inThread('t1', { aliases: ['object of m1'] })), 'c')
      const turn = await leaseOnlyTurn(desk)
      await desk.commit(turn, sketchAnswer(turn, 'hello', [], { aliases: ['<answer@agents.test>'] }))
      for (const [index, name] of ['t1', 'object of m1', 'answer to m1', '<answer@agents.test>'].entries()) {
        expect(await placeOf(desk, `n${index}`, referring([name])), name).toEqual({ thread: turn.thread, key: 't1' })
      }
    }),
  )
  test(
    'a thread id is compared with thread ids only, not with ids of messages',
    withDesk(open, async ({ desk }) => {
      const first = await placeOf(desk, '1', inThread('a'))
      expect(await placeOf(desk, '2', inThread('1'))).toEqual({
        thread: expect.not.toBeOneOf([first.thread]),
        key: '1',
      })
    }),
  )
  test(
    'a message cannot take over a name that another thread has',
    withDesk(open, async ({ desk }) => {
      const first = await placeOf(desk, 'm1', inThread('t1'))
      await placeOf(desk, 'm2', inThread('t2', { aliases: ['m1', 't1'] }))
      expect(await placeOf(desk, 'm3', referring(['m1']))).toEqual(first)
    }),
  )
}

function describeScopes(open: OpenDesk): void {
  const elsewhere: readonly (readonly [string, IntakeSketch])[] = [
    ['scopes', { thread: { scope: 'private to ada', references: ['m1'] } }],
    ['agents', { agent: 'help', thread: { references: ['m1'] } }],
    ['channels', { message: { received_via: 'email' }, thread: { references: ['m1'] } }],
  ]
  test.each(elsewhere)('threads of different %s never meet, neither by thread id nor by reference', (_, sketch) =>
    withDesk(open, async ({ desk }) => {
      const first = await placeOf(desk, 'm1', inThread('t1'))
      const other = await placeOf(desk, 'm2', inThread('t1', sketch))
      expect(other.thread).not.toBe(first.thread)
      expect(await placeOf(desk, 'm3', inThread('t1'))).toEqual(first)
    })(),
  )
}
