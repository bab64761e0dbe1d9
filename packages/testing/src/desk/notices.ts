import { describe, expect, test } from 'vitest'
import type { OpenDesk } from './under-test.ts'
import {
  inThread,
  leaseOnlyDelivery,
  leaseOnlyTurn,
  sayNothing,
  sketchAnswer,
  sketchIntake,
  withDesk,
} from './under-test.ts'

export function noticeContract(open: OpenDesk): void {
  describe('notices', () => {
    describeListening(open)
    describeHints(open)

    test(
      'the end of a turn tells of its task, if of one, as it can be looked up; a desk may leave that to the listener',
      withDesk(open, async ({ desk }) => {
        const key = { owner: 'ada', id: 'task 1' }
        const { message } = await desk.admit(sketchIntake('m1', { task: { ...key, context: 'ctx' } }), 'c')
        const heard: { readonly kind: string; readonly task?: object }[] = []
        desk.listen(`message:${message}`, notice => heard.push(notice as { kind: string }))
        const turn = await leaseOnlyTurn(desk)
        await desk.commit(turn, sketchAnswer(turn, 'done'))
        expect(heard.map(({ kind }) => kind)).toEqual(['settled'])
        const told = heard[0]?.task
        expect(told ?? (await desk.findTask(key))).toEqual(await desk.findTask(key))
      }),
    )
  })
}

function describeListening(open: OpenDesk): void {
  test(
    'notify() reaches those who listen to the topic, until they stop',
    withDesk(open, async ({ desk }) => {
      const heard: unknown[] = []
      const stop = desk.listen('message:1', payload => heard.push(payload))
      const stopOther = desk.listen('message:1', payload => heard.push(payload))
      desk.notify('message:1', { kind: 'part', chunk: 'a' })
      desk.notify('message:2', { kind: 'part', chunk: 'b' })
      stop()
      stop()
      desk.notify('message:1', { kind: 'settled' })
      stopOther()
      desk.notify('message:1', { kind: 'settled' })
      expect(heard).toEqual([{ kind: 'part', chunk: 'a' }, { kind: 'part', chunk: 'a' }, { kind: 'settled' }])
    }),
  )
  test(
    'a listener that throws harms neither the notifier nor the others',
    withDesk(open, async ({ desk }) => {
      let heard = 0
      desk.listen('work', () => {
        throw new Error('broken listener')
      })
      desk.listen('work', () => {
        heard += 1
      })
      expect(() => desk.notify('work', undefined)).not.toThrow()
      await desk.admit(sketchIntake('m1'), 'c')
      expect(heard).toBe(2)
    }),
  )
}

function describeHints(open: OpenDesk): void {
  test(
    'whatever makes work ready notifies work',
    withDesk(open, async ({ desk, now }) => {
      let hints = 0
      desk.listen('work', () => {
        hints += 1
      })
      const isHinted = async <T>(act: Promise<T>): Promise<T> => {
        hints = 0
        const result = await act
        expect(hints).toBeGreaterThan(0)
        return result
      }
      await isHinted(desk.admit(sketchIntake('m1', inThread('t')), 'c'))
      await desk.admit(sketchIntake('m2', inThread('t')), 'c')
      await isHinted(desk.release(await leaseOnlyTurn(desk), { dueAt: now() }))
      await isHinted(desk.commit(await leaseOnlyTurn(desk), sayNothing()))
      const turn = await leaseOnlyTurn(desk)
      await isHinted(desk.commit(turn, sketchAnswer(turn, 'hello', ['x', 'x', 'x'])))
      await isHinted(desk.settle(await leaseOnlyDelivery(desk), { state: 'sent' }))
      const second = await leaseOnlyDelivery(desk)
      await isHinted(desk.settle(second, { state: 'dead', error: 'gone' }))
      await isHinted(desk.dropDelivery((await leaseOnlyDelivery(desk)).id).then(() => desk.retryDelivery(second.id)))
    }),
  )
  test(
    'a committed turn notifies its message, once it can be read',
    withDesk(open, async ({ desk }) => {
      const { message } = await desk.admit(sketchIntake('m1'), 'c')
      const turn = await leaseOnlyTurn(desk)
      const settled = new Promise(resolve => {
        desk.listen(`message:${message}`, notice =>
          resolve(desk.findMessage('m1').then(record => [notice, record?.state])),
        )
      })
      await desk.commit(turn, sketchAnswer(turn, 'hello'))
      expect(await settled).toEqual([{ kind: 'settled' }, 'answered'])
    }),
  )
}
