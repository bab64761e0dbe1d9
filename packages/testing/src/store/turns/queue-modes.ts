// Tests the queue mode `merge`: several messages become one turn.
import { LeaseLost } from '@postern/message'
import { mergeBounds } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import { sketchProvenSender } from '../setup/proven-sender.ts'
import { mergeMode, provenAda, readMessageState, sketchQueued, wordsOfTurn } from '../setup/queue-mode-sketch.ts'
import type { IntakeSketch, OpenStore } from '../setup/under-test.ts'
import {
  admitAll,
  leaseMs,
  leaseOnlyTurn,
  leaseTurns,
  sayNothing,
  sketchAnswer,
  withStore,
} from '../setup/under-test.ts'

export function queueModeContract(openStore: OpenStore): void {
  describe('queue modes', () => {
    describeMerging(openStore)
    describeMergeBounds(openStore)
    describeMergedEnds(openStore)
  })
}

function describeMerging(openStore: OpenStore): void {
  test(
    'messages of one sender during a turn become one turn with one answer to the last of them',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchQueued('m1', mergeMode), 'c')
      const firstTurn = await leaseOnlyTurn(store)
      const [m2, m3, m4] = await admitAll(
        store,
        ['m2', 'm3', 'm4'].map(id => sketchQueued(id, mergeMode, { flags: [`flag of ${id}`] })),
      )
      expect(await leaseTurns(store)).toEqual([])
      const notices: string[] = []
      for (const messageNumber of [m2, m3, m4]) {
        store.listen(`message:${messageNumber}`, notice =>
          notices.push(`${messageNumber} ${(notice as { kind: string }).kind}`),
        )
      }
      await store.commit(firstTurn, sketchAnswer(firstTurn, 'one'))
      const turn = await leaseOnlyTurn(store)
      expect(turn).toMatchObject({ message: m4, merged: [m2, m3], attempt: 1, crashes: 0, target: { answerTo: 'm4' } })
      expect(turn.content).toMatchObject({
        id: 'm4',
        raw: { id: 'm4' },
        merged: [
          { id: 'm2', part_count: 1 },
          { id: 'm3', part_count: 1 },
        ],
      })
      expect(wordsOfTurn(turn)).toEqual(['words of m2', 'words of m3', 'words of m4'])
      expect(turn.flags).toEqual(['flag of m2', 'flag of m3', 'flag of m4'])
      expect((await store.count()).messages).toMatchObject({ answered: 1, working: 3, received: 0 })
      await store.commit(turn, sketchAnswer(turn, 'all', ['x']))
      for (const id of ['m2', 'm3']) {
        expect(await readMessageState(store, id)).toEqual({
          state: 'answered',
          error: undefined,
          merged_into: m4,
          response: 'answer to m4',
        })
      }
      expect(await readMessageState(store, 'm4')).toMatchObject({ state: 'answered', merged_into: undefined })
      expect(notices.sort()).toEqual([`${m2} settled`, `${m3} settled`, `${m4} settled`])
      expect(await store.listDeliveries({ limit: 9 })).toHaveLength(1)
      expect((await store.count()).messages).toMatchObject({ answered: 4, working: 0, received: 0 })
      expect(await leaseTurns(store)).toEqual([])
    }),
  )
  test(
    'merged messages appear once in the history, followed by one answer',
    withStore(openStore, async ({ store }) => {
      await admitAll(
        store,
        ['m1', 'm2'].map(id => sketchQueued(id, mergeMode)),
      )
      const turn = await leaseOnlyTurn(store)
      const listIdsBefore = async (messageNumber: number) =>
        (await store.readHistory({ thread: turn.thread, beforeMessage: messageNumber, head: 9, tail: 9 })).map(
          entry => entry.nativeId,
        )
      expect(await listIdsBefore(turn.merged?.[0] ?? 0)).toEqual([])
      await store.commit(turn, sketchAnswer(turn, 'both'))
      const { message } = await store.admit(sketchQueued('m3', mergeMode), 'c')
      expect(await listIdsBefore(message)).toEqual(['m1', 'm2', 'answer to m2'])
    }),
  )
  test(
    'a message waits for others until its window ends',
    withStore(openStore, async ({ store, now, advance }) => {
      const patient = { mode: 'merge', windowMs: 2_000 } as const
      await store.admit(sketchQueued('m1', patient), 'c')
      expect(await leaseTurns(store)).toEqual([])
      expect(await store.findNextDueAt()).toBe(now() + 2_000)
      advance(1_999)
      await store.admit(sketchQueued('m2', patient), 'c')
      expect(await leaseTurns(store)).toEqual([])
      advance(1)
      const turn = await leaseOnlyTurn(store)
      expect(wordsOfTurn(turn)).toEqual(['words of m1', 'words of m2'])
      await store.admit(sketchQueued('m3', patient), 'c')
      await store.commit(turn, sayNothing())
      expect(await leaseTurns(store)).toEqual([])
      advance(2_000)
      expect((await leaseOnlyTurn(store)).content.id).toBe('m3')
    }),
  )
}

function describeMergeBounds(openStore: OpenStore): void {
  const otherSketches: readonly (readonly [string, IntakeSketch])[] = [
    ['somebody else', { message: { sender: sketchProvenSender('bob') } }],
    [
      'who has not proven it',
      { message: { sender: { address: provenAda.address, auth_method: 'none', verified: false } } },
    ],
    [
      'the same with other rights',
      { message: { sender: sketchProvenSender('ada', { on_behalf_of: ['@root@peer.test'] }) } },
    ],
    ['the same before others', { audience: 'direct' }],
    [
      'the same on another hop',
      {
        message: {
          recipient_capabilities: {
            mention_relay: { kind: 'none' },
            agent_chain: { hop: 2, max_hops: 5, is_final: false },
          },
        },
      },
    ],
    ['a reaction of the same', { message: { sender: provenAda, kind: 'reaction' } }],
    [
      'a decision of the same',
      {
        message: {
          sender: provenAda,
          policy_resolution: { in_reply_to_state: 's', kind: 'k', outcome: 'accepted' } as never,
        },
      },
    ],
    ['the same in a task', { task: { owner: 'o', id: 'task', context: 't' } }],
    ['the same, for an agent that takes each in its order', { queueMode: undefined }],
  ]
  test.each(otherSketches)('the store answers %s separately, in order', async (_who, sketch) => {
    await withStore(openStore, async ({ store }) => {
      await admitAll(store, [
        sketchQueued('m1', mergeMode),
        sketchQueued('m2', mergeMode),
        sketchQueued('other', mergeMode, sketch),
        sketchQueued('m3', mergeMode),
      ])
      const contents: (readonly string[])[] = []
      for (let turn = await leaseOnlyTurn(store); ; turn = await leaseOnlyTurn(store)) {
        contents.push([...(turn.content.merged ?? []).map(({ id }) => id), turn.content.id])
        await store.commit(turn, sayNothing())
        if (turn.content.id === 'm3') break
      }
      expect(contents).toEqual([['m1', 'm2'], ['other'], ['m3']])
    })()
  })
  test(
    'a turn answers a limited number of messages and bytes, and the rest is the next turn',
    withStore(openStore, async ({ store }) => {
      const ids = Array.from({ length: mergeBounds.messages + 3 }, (_, index) => `m${index}`)
      await admitAll(
        store,
        ids.map(id => sketchQueued(id, mergeMode)),
      )
      const mergedTurn = await leaseOnlyTurn(store)
      expect(mergedTurn.merged).toHaveLength(mergeBounds.messages - 1)
      await store.commit(mergedTurn, sayNothing())
      const turn = await leaseOnlyTurn(store)
      expect(turn.merged).toHaveLength(2)
      await store.commit(turn, sayNothing())
      const parts = [{ kind: 'text', mime: 'text/plain', content: 'x'.repeat(mergeBounds.bytes / 2) }] as const
      await admitAll(
        store,
        ['l1', 'l2', 'l3'].map(id => sketchQueued(id, mergeMode, { message: { parts: [...parts] } })),
      )
      const large = await leaseOnlyTurn(store)
      expect([large.content.id, large.merged]).toEqual(['l1', undefined])
    }),
  )
}

function describeMergedEnds(openStore: OpenStore): void {
  test(
    'a dead worker’s merged turn repeats whole, without additions or second answers',
    withStore(openStore, async ({ store, advance }) => {
      await admitAll(
        store,
        ['m1', 'm2'].map(id => sketchQueued(id, mergeMode)),
      )
      const lostTurn = await leaseOnlyTurn(store)
      await store.admit(sketchQueued('m3', mergeMode), 'c')
      advance(leaseMs)
      const secondLease = await leaseOnlyTurn(store)
      expect(secondLease).toMatchObject({ message: lostTurn.message, merged: lostTurn.merged, crashes: 1 })
      expect(wordsOfTurn(secondLease)).toEqual(['words of m1', 'words of m2'])
      await expect(store.commit(lostTurn, sketchAnswer(lostTurn, 'late'))).rejects.toThrow(LeaseLost)
      await store.commit(secondLease, sketchAnswer(secondLease, 'in time'))
      expect((await leaseOnlyTurn(store)).content.id).toBe('m3')
    }),
  )
  test(
    'a released merged turn waits as a whole',
    withStore(openStore, async ({ store, now, advance }) => {
      await admitAll(
        store,
        ['m1', 'm2'].map(id => sketchQueued(id, mergeMode)),
      )
      await store.release(await leaseOnlyTurn(store), { dueAt: now() + 1_000, error: 'busy' })
      expect((await store.count()).messages).toMatchObject({ received: 2, working: 0 })
      await store.admit(sketchQueued('m3', mergeMode), 'c')
      advance(1_000)
      expect(wordsOfTurn(await leaseOnlyTurn(store))).toEqual(['words of m1', 'words of m2'])
      expect((await store.count()).messages).toMatchObject({ received: 1, working: 2 })
    }),
  )
  test(
    'messages with separate tasks are one turn, whose answer ends each task for its watchers',
    withStore(openStore, async ({ store }) => {
      const keys = ['one', 'two', 'three'].map(id => ({ owner: 'ada', id, context: 't' }))
      await admitAll(
        store,
        keys.map(task => sketchQueued(`m of ${task.id}`, mergeMode, { task })),
      )
      await store.watchTask({ owner: 'ada', id: 'one' }, { id: 'w', to: 'https://peer.test/push', target: {} })
      const turn = await leaseOnlyTurn(store)
      expect(turn).toMatchObject({ content: { id: 'm of three' }, task: { id: 'three' } })
      expect(wordsOfTurn(turn)).toEqual(keys.map(({ id }) => `words of m of ${id}`))
      const findTasks = () => Promise.all(keys.map(key => store.findTask(key)))
      expect((await findTasks()).map(task => task?.state)).toEqual(['working', 'working', 'working'])
      await store.commit(turn, sketchAnswer(turn, 'all'))
      for (const task of await findTasks()) {
        expect(task).toMatchObject({ state: 'completed', response: { in_reply_to: 'm of three' } })
      }
      for (const messageNumber of [...(turn.merged ?? []), turn.message])
        expect(await store.findAnswer(messageNumber)).toMatchObject({ response: { in_reply_to: 'm of three' } })
      expect(await store.listDeliveries({ limit: 9 })).toMatchObject([
        { message_id: 'm of one', to: 'https://peer.test/push' },
      ])
    }),
  )
  test.each([
    ['input_required', 'completed'],
    ['auth_required', 'completed'],
    ['working', 'completed'],
    ['failed', 'failed'],
    ['rejected', 'rejected'],
  ] as const)('after an answer of status %s the tasks of earlier messages are %s', async (status, state) => {
    await withStore(openStore, async ({ store }) => {
      const [firstTask, lastTask] = ['one', 'two'].map(id => ({ owner: 'ada', id, context: 't' }))
      if (!firstTask || !lastTask) throw new Error('expected two tasks')
      await admitAll(
        store,
        [firstTask, lastTask].map(task => sketchQueued(`m of ${task.id}`, mergeMode, { task })),
      )
      const turn = await leaseOnlyTurn(store)
      const { response, ...answer } = sketchAnswer(turn, 'which one?')
      await store.commit(turn, { ...answer, response: response && { ...response, status } })
      expect(await store.findTask(firstTask)).toMatchObject({ state, response: { status } })
      expect(await store.findTask(lastTask)).toMatchObject({ state: status, response: { status } })
    })()
  })
  test(
    'the other tasks of a merged turn get their answer after a caller cancels one of them',
    withStore(openStore, async ({ store }) => {
      const keys = ['one', 'two', 'three'].map(id => ({ owner: 'ada', id, context: 't' }))
      await admitAll(
        store,
        keys.map(task => sketchQueued(`m of ${task.id}`, mergeMode, { task })),
      )
      const [first, second, third] = keys
      if (!first || !second || !third) throw new Error('expected three tasks')
      const mergedTurn = await leaseOnlyTurn(store)
      expect(await store.cancelTask(second)).toBe(true)
      await expect(store.commit(mergedTurn, sayNothing())).rejects.toThrow(LeaseLost)
      const otherTurn = await leaseOnlyTurn(store)
      expect(wordsOfTurn(otherTurn)).toEqual(['words of m of one', 'words of m of three'])
      expect(await store.cancelTask(third)).toBe(true)
      await expect(store.commit(otherTurn, sayNothing())).rejects.toThrow(LeaseLost)
      const lastTurn = await leaseOnlyTurn(store)
      expect(wordsOfTurn(lastTurn)).toEqual(['words of m of one'])
      await store.commit(lastTurn, sketchAnswer(lastTurn, 'one'))
      const states = await Promise.all(keys.map(async key => (await store.findTask(key))?.state))
      expect(states).toEqual(['completed', 'canceled', 'canceled'])
      expect((await store.count()).messages).toMatchObject({ answered: 1, failed: 2, working: 0, received: 0 })
    }),
  )
  test(
    'the store merges messages of one task, and a cancel ends all of them',
    withStore(openStore, async ({ store }) => {
      const task = { owner: 'ada', id: 'task', context: 't' }
      await admitAll(
        store,
        ['m1', 'm2'].map(id => sketchQueued(id, mergeMode, { task })),
      )
      const turn = await leaseOnlyTurn(store)
      expect(turn.merged).toHaveLength(1)
      await store.commit(turn, sketchAnswer(turn, 'both'))
      expect(await store.findTask(task)).toMatchObject({ state: 'completed', response: { in_reply_to: 'm2' } })
      const next = { ...task, id: 'next' }
      await admitAll(
        store,
        ['m3', 'm4', 'm5'].map(id => sketchQueued(id, mergeMode, { task: next })),
      )
      const running = await leaseOnlyTurn(store)
      expect(await store.cancelTask(next)).toBe(true)
      await expect(store.commit(running, sayNothing())).rejects.toThrow(LeaseLost)
      expect((await store.count()).messages).toMatchObject({ answered: 2, failed: 3, working: 0, received: 0 })
      expect(await leaseTurns(store)).toEqual([])
    }),
  )
}
