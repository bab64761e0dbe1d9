// Tests that a store notifies the listeners of a topic, in its own process and in others.
import type { SettledTask } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import type { OpenStore } from '../setup/under-test.ts'
import {
  inThread,
  leaseOnlyDelivery,
  leaseOnlyTurn,
  sayNothing,
  sketchAnswer,
  sketchIntake,
  withStore,
} from '../setup/under-test.ts'

export function noticeContract(openStore: OpenStore): void {
  describe('notifications', () => {
    describeListening(openStore)
    describeHints(openStore)

    test(
      'of the end of a turn contain its task, in the form of findTask()',
      withStore(openStore, async ({ store }) => {
        const key = { owner: 'ada', id: 'task 1' }
        const { message } = await store.admit(sketchIntake('m1', { task: { ...key, context: 'ctx' } }), 'c')
        const notices: { readonly kind: string; readonly task?: SettledTask }[] = []
        store.listen(`message:${message}`, notice => notices.push(notice as { kind: string }))
        const turn = await leaseOnlyTurn(store)
        await store.commit(turn, sketchAnswer(turn, 'done'))
        expect(notices.map(({ kind }) => kind)).toEqual(['settled'])
        const settledTask = notices[0]?.task
        const task = await store.findTask(key)
        expect({ ...settledTask, entries: settledTask?.entries ?? task?.entries }).toEqual({ ...task })
      }),
    )
  })
}

function describeListening(openStore: OpenStore): void {
  test(
    'notify() reaches listeners of the topic until they stop',
    withStore(openStore, async ({ store }) => {
      const notices: unknown[] = []
      const stop = store.listen('message:1', payload => notices.push(payload))
      const stopOther = store.listen('message:1', payload => notices.push(payload))
      store.notify('message:1', { kind: 'part', chunk: 'a' })
      store.notify('message:2', { kind: 'part', chunk: 'b' })
      stop()
      stop()
      store.notify('message:1', { kind: 'settled' })
      stopOther()
      store.notify('message:1', { kind: 'settled' })
      expect(notices).toEqual([{ kind: 'part', chunk: 'a' }, { kind: 'part', chunk: 'a' }, { kind: 'settled' }])
    }),
  )
  test(
    'a listener that throws harms neither the notifier nor others',
    withStore(openStore, async ({ store }) => {
      let noticeCount = 0
      store.listen('work', () => {
        throw new Error('broken listener')
      })
      store.listen('work', () => {
        noticeCount += 1
      })
      expect(() => store.notify('work', undefined)).not.toThrow()
      await store.admit(sketchIntake('m1'), 'c')
      expect(noticeCount).toBe(2)
    }),
  )
}

function describeHints(openStore: OpenStore): void {
  test(
    'every call that makes work ready sends a work notification',
    withStore(openStore, async ({ store, now, advance }) => {
      let hints = 0
      store.listen('work', () => {
        hints += 1
      })
      const isHinted = async <T>(change: Promise<T>): Promise<T> => {
        hints = 0
        const result = await change
        expect(hints).toBeGreaterThan(0)
        return result
      }
      await isHinted(store.admit(sketchIntake('m1', inThread('t')), 'c'))
      await store.admit(sketchIntake('m2', inThread('t')), 'c')
      await isHinted(store.release(await leaseOnlyTurn(store), { dueAt: now() }))
      await isHinted(store.commit(await leaseOnlyTurn(store), sayNothing()))
      const turn = await leaseOnlyTurn(store)
      await isHinted(store.commit(turn, sketchAnswer(turn, 'hello', ['x', 'x', 'x'])))
      await isHinted(store.settle(await leaseOnlyDelivery(store), { state: 'sent' }))
      // A later due time is announced, too, because a worker that waits for the next due time has to poll again.
      await isHinted(
        store.settle(await leaseOnlyDelivery(store), {
          state: 'later',
          dueAt: now() + 5,
          reason: 'unavailable',
          error: 'busy',
        }),
      )
      advance(5)
      const secondDelivery = await leaseOnlyDelivery(store)
      await isHinted(store.settle(secondDelivery, { state: 'dead', reason: 'refused', error: 'gone' }))
      await isHinted(
        store.dropDelivery((await leaseOnlyDelivery(store)).id).then(() => store.retryDelivery(secondDelivery.id)),
      )
    }),
  )
  test(
    'a committed turn notifies its message once readers can see it',
    withStore(openStore, async ({ store }) => {
      const { message } = await store.admit(sketchIntake('m1'), 'c')
      const turn = await leaseOnlyTurn(store)
      const settlement = new Promise(resolve => {
        store.listen(`message:${message}`, notice =>
          resolve(store.findMessage('m1').then(record => [notice, record?.state])),
        )
      })
      await store.commit(turn, sketchAnswer(turn, 'hello'))
      expect(await settlement).toEqual([{ kind: 'settled' }, 'answered'])
    }),
  )
}
