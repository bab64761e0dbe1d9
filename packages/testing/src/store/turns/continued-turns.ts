// Tests turns that begin within the transactions of their messages.
import { LeaseLost } from '@postern/message'
import type { Store, Turn, TurnConsumer } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import { adasTask, sketchTaskIntake } from '../setup/task-sketches.ts'
import type { OpenStore } from '../setup/under-test.ts'
import { inThread, leaseTurns, sketchAnswer, sketchIntake, withStore } from '../setup/under-test.ts'

export function continuedTurnContract(openStore: OpenStore): void {
  describe('turns that start within their messages’ transactions', () => {
    describeAnswers(openStore)
    describeLateAnswers(openStore)
    describeCompany(openStore)
    describeFailures(openStore)
    describeRefusals(openStore)
  })
}

/** Sets a worker that runs every turn at once. @returns the turns in their order */
function runAtOnce(store: Store, handle: (turn: Turn) => unknown): readonly Turn[] {
  const begunTurns: Turn[] = []
  const consumer: TurnConsumer = {
    holder: 'worker',
    leaseMs: 60_000,
    maxConcurrent: () => Number.POSITIVE_INFINITY,
    hasCapacity: () => true,
    continuesAdmission: () => true,
    beginPoll: () => ({ limit: 10, shares: { maxPerGroup: 10, usedByGroup: new Map() } }),
    endPoll() {},
    reserveSlot() {},
    releaseSlot() {},
    undoLease() {},
    begin(turn) {
      begunTurns.push(turn)
      void handle(turn)
    },
  }
  store.setTurnConsumer?.(consumer)
  return begunTurns
}

const answer = (store: Store) => async (turn: Turn) => {
  await Promise.resolve()
  await store.commit(turn, sketchAnswer(turn, 'at once', ['peer']))
}

function describeAnswers(openStore: OpenStore): void {
  test(
    'commit an immediate answer and its deliveries with the message',
    withStore(openStore, async ({ store }) => {
      const begunTurns = runAtOnce(store, answer(store))
      const { message } = await store.admit(sketchIntake('m1', sketchTaskIntake(adasTask)), 'c')
      expect(begunTurns.map(turn => [turn.message, turn.token])).toEqual([[message, 1]])
      expect(await begunTurns[0]?.whenStored).toBeUndefined()
      expect((await store.findAnswer(message))?.response.parts).toMatchObject([{ content: 'at once' }])
      expect(await store.findTask(adasTask)).toMatchObject({ state: 'completed', response: { in_reply_to: 'm1' } })
      expect(await store.listDeliveries({ limit: 9 })).toMatchObject([{ message_id: 'm1', to: 'peer' }])
      expect((await store.count()).messages).toMatchObject({ answered: 1, working: 0, received: 0 })
      expect(await leaseTurns(store)).toEqual([])
    }),
  )
  test(
    'notify callers that start to listen after the acknowledgement',
    withStore(openStore, async ({ store }) => {
      runAtOnce(store, answer(store))
      const { message } = await store.admit(sketchIntake('m1'), 'c')
      const settled = Promise.withResolvers<unknown>()
      store.listen(`message:${message}`, settled.resolve)
      expect(await settled.promise).toMatchObject({ kind: 'settled' })
    }),
  )
  test(
    'answer each of several messages of one transaction, and no duplicate among them',
    withStore(openStore, async ({ store }) => {
      const begunTurns = runAtOnce(store, turn => store.commit(turn, sketchAnswer(turn, `to ${turn.content.id}`)))
      const ids = ['m1', 'm2', 'm1', 'm3', 'm1']
      const admissions = await Promise.all(ids.map(id => store.admit(sketchIntake(id), 'c')))
      expect(admissions.map(({ outcome }) => outcome)).toEqual([
        'accepted',
        'accepted',
        'duplicate',
        'accepted',
        'duplicate',
      ])
      expect(new Set(begunTurns.map(({ content }) => content.id))).toEqual(new Set(['m1', 'm2', 'm3']))
      expect(begunTurns).toHaveLength(3)
      for (const [index, { message }] of admissions.entries())
        expect((await store.findAnswer(message))?.response.parts).toMatchObject([{ content: `to ${ids[index]}` }])
      expect((await store.admit(sketchIntake('m2'), 'c')).outcome).toBe('duplicate')
      expect((await store.count()).messages).toMatchObject({ answered: 3 })
    }),
  )
}

function describeLateAnswers(openStore: OpenStore): void {
  test(
    'commit the lease of a slow agent’s turn with the message, and the answer follows',
    withStore(openStore, async ({ store }) => {
      const begunTurns = runAtOnce(store, () => undefined)
      const { message } = await store.admit(sketchIntake('m1', sketchTaskIntake(adasTask)), 'c')
      expect((await store.count()).messages).toMatchObject({ working: 1 })
      expect(await store.findTask(adasTask)).toMatchObject({ state: 'working' })
      expect(await leaseTurns(store)).toEqual([])
      const [turn] = begunTurns
      if (!turn) throw new Error('expected a turn')
      await store.commit(turn, sketchAnswer(turn, 'later'))
      expect((await store.findAnswer(message))?.response.parts).toMatchObject([{ content: 'later' }])
      await expect(store.commit(turn, sketchAnswer(turn, 'twice'))).rejects.toThrow(LeaseLost)
    }),
  )
  test(
    'hold back an answer between the transaction and the disk sync',
    withStore(openStore, async ({ store }) => {
      const committed: Promise<void>[] = []
      runAtOnce(store, turn =>
        setImmediate(() => committed.push(store.commit(turn, sketchAnswer(turn, 'soon'))) && undefined),
      )
      const { message } = await store.admit(sketchIntake('m1'), 'c')
      await new Promise(setImmediate)
      await Promise.all(committed)
      expect(committed).toHaveLength(1)
      expect((await store.findAnswer(message))?.response.parts).toMatchObject([{ content: 'soon' }])
    }),
  )
  test(
    'start when the message is durable if their sender follows them',
    withStore(openStore, async ({ store }) => {
      const begunTurns = runAtOnce(store, () => undefined)
      await store.admit(sketchIntake('m1', { isFollowed: true }), 'c')
      expect(begunTurns.map(({ whenStored: stored }) => stored)).toEqual([undefined])
    }),
  )
}

/** Tests operations that follow the message in its transaction, while the row of its turn may not be written yet. */
function describeCompany(openStore: OpenStore): void {
  const numbersOf = (turns: readonly Turn[]) => turns.map(({ content }) => content.id)

  test(
    'are open for the next message of their thread and their transaction, which waits for their end',
    withStore(openStore, async ({ store }) => {
      const begunTurns = runAtOnce(store, () => undefined)
      await Promise.all(['m1', 'm2'].map(id => store.admit(sketchIntake(id, inThread('t')), 'c')))
      expect([numbersOf(begunTurns), await leaseTurns(store)]).toEqual([['m1'], []])
      for (const turn of begunTurns) await store.commit(turn, sketchAnswer(turn, 'done'))
      expect(numbersOf(await leaseTurns(store))).toEqual(['m2'])
    }),
  )
  test(
    'make the next message of their thread ready, whose admission shared their transaction',
    withStore(openStore, async ({ store }) => {
      runAtOnce(store, answer(store))
      await Promise.all(['m1', 'm2'].map(id => store.admit(sketchIntake(id, inThread('t')), 'c')))
      expect(numbersOf(await leaseTurns(store))).toEqual(['m2'])
      expect((await store.count()).messages).toMatchObject({ answered: 1, working: 1, received: 0 })
    }),
  )
  test.each(['m1', 'm2'])(
    'keep their task open if the agent answers only one of two messages in a transaction: %s',
    answeredId =>
      withStore(openStore, async ({ store }) => {
        const begunTurns = runAtOnce(store, turn => turn.content.id === answeredId && answer(store)(turn))
        const sketchOf = (id: string) => ({ ...sketchTaskIntake(adasTask), ...inThread(id) })
        await Promise.all(['m1', 'm2'].map(id => store.admit(sketchIntake(id, sketchOf(id)), 'c')))
        expect(await store.findTask(adasTask)).toMatchObject({ state: 'working' })
        const otherTurn = begunTurns.find(turn => turn.content.id !== answeredId)
        if (otherTurn) await store.commit(otherTurn, sketchAnswer(otherTurn, 'well'))
        expect(await store.findTask(adasTask)).toMatchObject({ state: 'completed' })
        expect((await store.count()).messages).toMatchObject({ answered: 2, working: 0, received: 0 })
      })(),
  )
  test(
    'end with a cancellation in the transaction of their message',
    withStore(openStore, async ({ store }) => {
      const begunTurns = runAtOnce(store, () => undefined)
      await Promise.all([store.admit(sketchIntake('m1', sketchTaskIntake(adasTask)), 'c'), store.cancelTask(adasTask)])
      expect(await store.findTask(adasTask)).toMatchObject({ state: 'canceled' })
      expect((await store.count()).messages).toMatchObject({ failed: 1, answered: 0, working: 0 })
      expect([begunTurns.length, await leaseTurns(store)]).toEqual([1, []])
    }),
  )
}

function describeFailures(openStore: OpenStore): void {
  test(
    'start again without harm to other messages if the store refuses an answer',
    withStore(openStore, async ({ store }) => {
      const ends: Promise<unknown>[] = []
      const begunTurns = runAtOnce(store, turn => {
        const isBroken = turn.content.id === 'm2' && turn.whenStored !== undefined
        const recipients = isBroken ? [undefined as never] : ['peer']
        ends.push(store.commit(turn, sketchAnswer(turn, 'well', recipients)).catch((error: unknown) => error))
      })
      const admissions = await Promise.all(['m1', 'm2', 'm3'].map(id => store.admit(sketchIntake(id), 'c')))
      expect(admissions.map(({ outcome }) => outcome)).toEqual(['accepted', 'accepted', 'accepted'])
      await expect.poll(() => begunTurns.filter(({ whenStored: stored }) => stored === undefined).length).toBe(3)
      // A transaction that is undone may have had only some of the messages.
      const outcomes = await Promise.all(ends)
      expect(outcomes.filter(error => error !== undefined && !(error instanceof LeaseLost))).toEqual([])
      for (const { message } of admissions)
        expect((await store.findAnswer(message))?.response.parts).toMatchObject([{ content: 'well' }])
      expect((await store.count()).messages).toMatchObject({ answered: 3, working: 0, received: 0 })
    }),
  )
  test(
    'keep only the message if the store refuses its answer, and the turn starts again',
    withStore(openStore, async ({ store }) => {
      const lost: unknown[] = []
      const begunTurns = runAtOnce(store, turn => {
        const broken = sketchAnswer(turn, 'broken', [undefined as never])
        if (turn.whenStored) store.commit(turn, broken).catch((error: unknown) => lost.push(error))
      })
      const { message } = await store.admit(sketchIntake('m1'), 'c')
      expect(begunTurns.map(turn => turn.whenStored === undefined)).toEqual([false, true])
      expect(lost).toEqual([expect.any(LeaseLost)])
      await expect(begunTurns[0]?.whenStored).rejects.toThrow(LeaseLost)
      const [, turn] = begunTurns
      if (turn) await store.commit(turn, sketchAnswer(turn, 'well'))
      expect((await store.findAnswer(message))?.response.parts).toMatchObject([{ content: 'well' }])
    }),
  )
}

function describeRefusals(openStore: OpenStore): void {
  test(
    'do not start for a message that the store refuses, keeps or blocks, or that follows another one',
    withStore(openStore, async ({ store }) => {
      const begunTurns = runAtOnce(store, () => undefined)
      const budget = { key: 'ada', turns: 1, withinMs: 60_000, flag: 'loop_guard' }
      await store.admit(sketchIntake('m1', { ...inThread('t'), budgets: [budget] }), 'c')
      await store.admit(sketchIntake('m2', inThread('t')), 'c')
      await store.admit(sketchIntake('m3', { budgets: [budget] }), 'c')
      await store.admit(sketchIntake('m4', { disposition: 'keep' }), 'c')
      const authorship = { author: 'eve', object: 'o1' }
      const effects = [{ kind: 'relate', relation: 'blocked_by', peer: 'eve', target: null }] as const
      await store.admit(sketchIntake('m5', { disposition: 'keep', authorship, effects }), 'c')
      await store.admit(sketchIntake('m6', { authorship: { ...authorship, object: 'o2' } }), 'c')
      await store.admit(sketchIntake('m7', { task: { ...adasTask, context: 'ctx', maxOpenTasks: 1 } }), 'c')
      const second = { ...adasTask, id: 'task 2', context: 'ctx', maxOpenTasks: 1 }
      await expect(store.admit(sketchIntake('m8', { task: second }), 'c')).rejects.toThrow()
      expect(begunTurns.map(({ content }) => content.id)).toEqual(['m1', 'm7'])
    }),
  )
  test(
    'use up a budget in one transaction before their agents run',
    withStore(openStore, async ({ store }) => {
      const begunTurns = runAtOnce(store, answer(store))
      const budgets = [{ key: 'ada', turns: 2, withinMs: 60_000, flag: 'loop_guard' }]
      await Promise.all(['m1', 'm2', 'm3', 'm4'].map(id => store.admit(sketchIntake(id, { budgets }), 'c')))
      expect(begunTurns).toHaveLength(2)
      expect((await store.count()).messages).toMatchObject({ answered: 2, ignored: 2 })
    }),
  )
}
