// Tests the queue mode `interrupt`, and how agents share the workers.

import { LeaseLost } from '@postern/message'
import type { Turn } from '@postern/pipeline'
import { maxAborts } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import { sketchProvenSender } from '../setup/proven-sender.ts'
import { interruptMode, provenAda, readMessageState, sketchQueued } from '../setup/queue-mode-sketch.ts'
import type { IntakeSketch, OpenStore } from '../setup/under-test.ts'
import {
  admitAll,
  leaseMs,
  leaseOnlyTurn,
  leaseTurns,
  messageIdsOf,
  sayNothing,
  sketchAnswer,
  sketchIntake,
  withStore,
} from '../setup/under-test.ts'

export function interruptContract(openStore: OpenStore): void {
  describe('interrupts and shares', () => {
    describeInterrupting(openStore)
    describeShares(openStore)
  })
}

function describeInterrupting(openStore: OpenStore): void {
  test(
    'a newer message of the sender ends the running turn, whose text stays in the history without an answer',
    withStore(openStore, async ({ store }) => {
      const { message } = await store.admit(sketchQueued('m1', interruptMode), 'c')
      const interruptedTurn = await leaseOnlyTurn(store)
      const notices: unknown[] = []
      store.listen(`message:${message}`, notice => notices.push(notice))
      await store.admit(sketchQueued('m2', interruptMode), 'c')
      expect(notices).toEqual([{ kind: 'interrupted' }])
      const turn = await leaseOnlyTurn(store)
      expect(turn.content.id).toBe('m2')
      await expect(store.commit(interruptedTurn, sketchAnswer(interruptedTurn, 'late', ['x']))).rejects.toThrow(
        LeaseLost,
      )
      await store.commit(turn, sketchAnswer(turn, 'newest', ['x']))
      expect(await readMessageState(store, 'm1')).toMatchObject({
        state: 'ignored',
        error: 'interrupted by a newer message',
        response: undefined,
      })
      expect(await store.listDeliveries({ limit: 9 })).toMatchObject([{ message_id: 'm2' }])
      const history = await store.readHistory({ thread: turn.thread, beforeMessage: turn.message, head: 0, tail: 9 })
      expect(history.map(({ nativeId }) => nativeId)).toEqual(['m1'])
      expect((await store.count()).messages).toMatchObject({ ignored: 1, answered: 1, working: 0, received: 0 })
    }),
  )
  test(
    'nobody can end another sender’s turn, nor one without a proven sender',
    withStore(openStore, async ({ store }) => {
      const forgedIntake: IntakeSketch = {
        message: { sender: { ...provenAda, auth_method: 'none', verified: false, identities: [] } },
      }
      await store.admit(sketchQueued('m1', interruptMode), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.admit(sketchQueued('forged', interruptMode, forgedIntake), 'c')
      await store.admit(sketchQueued('bob', interruptMode, { message: { sender: sketchProvenSender('bob') } }), 'c')
      await store.commit(turn, sketchAnswer(turn, 'undisturbed'))
      expect((await leaseOnlyTurn(store)).content.id).toBe('forged')
    }),
  )
  test(
    'a flood interrupts a limited number of runs, and leaves the newest message waiting',
    withStore(openStore, async ({ store }) => {
      const runs: Turn[] = []
      for (let index = 0; index < 50; index += 1) {
        await store.admit(sketchQueued(`m${index}`, interruptMode), 'c')
        runs.push(...(await leaseTurns(store)))
      }
      expect(messageIdsOf(runs)).toEqual(Array.from({ length: maxAborts + 1 }, (_, index) => `m${index}`))
      expect((await store.count()).messages).toMatchObject({ working: 1, received: 1, ignored: 48 })
      const lastTurn = runs.at(-1)
      if (lastTurn) await store.commit(lastTurn, sketchAnswer(lastTurn, 'at last'))
      const newest = await leaseOnlyTurn(store)
      expect(newest.content.id).toBe('m49')
      await store.admit(sketchQueued('m50', interruptMode), 'c')
      expect((await leaseOnlyTurn(store)).content.id).toBe('m50')
      await expect(store.commit(newest, sayNothing())).rejects.toThrow(LeaseLost)
    }),
  )
  test(
    'a message interrupts the turn before it in a task, which continues with the newer one',
    withStore(openStore, async ({ store }) => {
      const task = { owner: 'ada', id: 'one', context: 't' }
      await store.admit(sketchQueued('m1', interruptMode, { task }), 'c')
      const firstTurn = await leaseOnlyTurn(store)
      await store.admit(sketchQueued('m2', interruptMode, { task }), 'c')
      await expect(store.commit(firstTurn, sayNothing())).rejects.toThrow(LeaseLost)
      expect(await store.findTask(task)).toMatchObject({ state: 'submitted' })
      const secondTurn = await leaseOnlyTurn(store)
      await store.commit(secondTurn, sketchAnswer(secondTurn, 'two'))
      expect(await store.findTask(task)).toMatchObject({ state: 'completed', response: { in_reply_to: 'm2' } })
    }),
  )
  test(
    'a message with a new task cancels its sender’s other tasks in the conversation',
    withStore(openStore, async ({ store }) => {
      const keys = ['one', 'two', 'three'].map(id => ({ owner: 'ada', id, context: 't' }))
      const [first, second, third] = keys
      await store.admit(sketchQueued('m1', interruptMode, { task: first }), 'c')
      const watchedTask = { owner: 'ada', id: 'one' }
      await store.watchTask(watchedTask, { id: 'w', to: 'https://peer.test/push', target: {} })
      const running = await leaseOnlyTurn(store)
      await store.admit(sketchQueued('m2', interruptMode, { task: second }), 'c')
      await store.admit(sketchQueued('m3', interruptMode, { task: third }), 'c')
      const stateOf = async (key: (typeof keys)[number] | undefined) => key && (await store.findTask(key))?.state
      expect(await Promise.all(keys.map(stateOf))).toEqual(['canceled', 'canceled', 'submitted'])
      expect(await store.listDeliveries({ limit: 9 })).toMatchObject([
        { message_id: 'm1', to: 'https://peer.test/push' },
      ])
      await expect(store.commit(running, sayNothing())).rejects.toThrow(LeaseLost)
      const lastTurn = await leaseOnlyTurn(store)
      expect(lastTurn.content.id).toBe('m3')
      await store.commit(lastTurn, sketchAnswer(lastTurn, 'three'))
      expect(await Promise.all(keys.map(stateOf))).toEqual(['canceled', 'canceled', 'completed'])
    }),
  )
  test(
    'a message interrupts no task of another owner, and a task with another open turn continues',
    withStore(openStore, async ({ store }) => {
      const ownTask = { owner: 'ada', id: 'own', context: 't' }
      await store.admit(sketchQueued('m1', interruptMode, { task: { ...ownTask, owner: 'bob' } }), 'c')
      await store.admit(sketchQueued('m2', undefined, { task: ownTask }), 'c')
      await store.admit(sketchQueued('m3', interruptMode, { task: ownTask }), 'c')
      await store.admit(sketchQueued('m4', interruptMode, { task: { ...ownTask, id: 'new' } }), 'c')
      const answeredMessages: string[] = []
      for (let count = 0; count < 3; count += 1) {
        const turn = await leaseOnlyTurn(store)
        answeredMessages.push(turn.content.id)
        await store.commit(turn, sketchAnswer(turn, 'heard'))
      }
      expect(answeredMessages).toEqual(['m1', 'm2', 'm4'])
      expect(await store.findTask(ownTask)).toMatchObject({ state: 'completed', response: { in_reply_to: 'm2' } })
    }),
  )
}

function describeShares(openStore: OpenStore): void {
  const request = {
    limit: 9,
    leaseMs,
    shares: { maxPerGroup: 9, maxByGroup: new Map([['echo', 2]]), usedByGroup: new Map() },
  }
  test(
    'an agent with a concurrency limit never has more running turns, for all workers together',
    withStore(openStore, async ({ store, advance }) => {
      await admitAll(
        store,
        ['m1', 'm2', 'm3', 'm4'].map(id => sketchIntake(id)),
      )
      await store.admit({ ...sketchIntake('h'), agent: 'help' }, 'c')
      const firstLease = await store.leaseTurns({ ...request, holder: 'one', limit: 1 })
      expect(messageIdsOf(firstLease)).toEqual(['m1'])
      expect(messageIdsOf(await store.leaseTurns({ ...request, holder: 'two' }))).toEqual(['m2', 'h'])
      expect(await store.leaseTurns({ ...request, holder: 'three' })).toEqual([])
      advance(leaseMs)
      expect(messageIdsOf(await store.leaseTurns({ ...request, holder: 'three' }))).toContain('m3')
    }),
  )
  test(
    'a turn that waits for another agent does not count towards the limit',
    withStore(openStore, async ({ store }) => {
      await admitAll(
        store,
        ['m1', 'm2', 'm3', 'm4'].map(id => sketchIntake(id)),
      )
      const [m1, m2] = await store.leaseTurns({ ...request, holder: 'one' })
      if (!m1 || !m2) throw new Error('expected two turns')
      await store.noteWaiting(m1, true)
      expect(messageIdsOf(await store.leaseTurns({ ...request, holder: 'two' }))).toEqual(['m3'])
      await store.noteWaiting(m1, false)
      await store.commit(m2, sayNothing())
      expect(await store.leaseTurns({ ...request, holder: 'three' })).toEqual([])
      await store.commit(m1, sayNothing())
      expect(messageIdsOf(await store.leaseTurns({ ...request, holder: 'three' }))).toEqual(['m4'])
    }),
  )
}
