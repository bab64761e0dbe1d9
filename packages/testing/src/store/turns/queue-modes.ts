import type { QueueMode, Store, Turn } from '@postern/core'
import { LeaseLost, maxAborts, mergeBounds } from '@postern/core'
import { describe, expect, test } from 'vitest'
import { sketchProvenSender } from '../setup/proven-sender.ts'
import type { IntakeSketch, OpenStore } from '../setup/under-test.ts'
import {
  admitAll,
  inThread,
  leaseMs,
  leaseOnlyTurn,
  leaseTurns,
  messageIdsOf,
  sayNothing,
  sketchAnswer,
  sketchIntake,
  withStore,
} from '../setup/under-test.ts'

export function queueModeContract(open: OpenStore): void {
  describe('lanes', () => {
    describeMerging(open)
    describeMergeBounds(open)
    describeMergedEnds(open)
    describeInterrupting(open)
    describeShares(open)
  })
}

const ada = sketchProvenSender('ada')
const merge: QueueMode = { mode: 'merge' }
const interrupt: QueueMode = { mode: 'interrupt' }

function said(id: string, lane: QueueMode, { message, ...sketch }: IntakeSketch = {}) {
  return sketchIntake(id, inThread('t', { lane, ...sketch, message: { sender: ada, ...message } }))
}

const wordsOf = ({ content }: Turn) => content.parts.map(part => (part.kind === 'text' ? part.content : part.kind))

async function stateOf(store: Store, id: string) {
  const { state, error, merged_into, response } = (await store.findMessage(id)) ?? {}
  return { state, error, merged_into, response: response?.id }
}

function describeMerging(open: OpenStore): void {
  test(
    'what one sender says while a turn of the thread runs is one turn, answered once, to the last',
    withStore(open, async ({ store }) => {
      await store.admit(said('m1', merge), 'c')
      const first = await leaseOnlyTurn(store)
      const [m2, m3, m4] = await admitAll(
        store,
        ['m2', 'm3', 'm4'].map(id => said(id, merge, { flags: [`flag of ${id}`] })),
      )
      expect(await leaseTurns(store)).toEqual([])
      const notices: string[] = []
      for (const number of [m2, m3, m4]) {
        store.listen(`message:${number}`, notice => notices.push(`${number} ${(notice as { kind: string }).kind}`))
      }
      await store.commit(first, sketchAnswer(first, 'one'))
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
      expect(wordsOf(turn)).toEqual(['words of m2', 'words of m3', 'words of m4'])
      expect(turn.flags).toEqual(['flag of m2', 'flag of m3', 'flag of m4'])
      expect((await store.count()).messages).toMatchObject({ answered: 1, working: 3, received: 0 })
      await store.commit(turn, sketchAnswer(turn, 'all', ['x']))
      for (const id of ['m2', 'm3']) {
        expect(await stateOf(store, id)).toEqual({
          state: 'answered',
          error: undefined,
          merged_into: m4,
          response: 'answer to m4',
        })
      }
      expect(await stateOf(store, 'm4')).toMatchObject({ state: 'answered', merged_into: undefined })
      expect(notices.sort()).toEqual([`${m2} settled`, `${m3} settled`, `${m4} settled`])
      expect(await store.listDeliveries({ limit: 9 })).toHaveLength(1)
      expect((await store.count()).messages).toMatchObject({ answered: 4, working: 0, received: 0 })
      expect(await leaseTurns(store)).toEqual([])
    }),
  )
  test(
    'what was merged stands once in the history, behind what was answered before it',
    withStore(open, async ({ store }) => {
      await admitAll(
        store,
        ['m1', 'm2'].map(id => said(id, merge)),
      )
      const turn = await leaseOnlyTurn(store)
      const before = async (number: number) =>
        (await store.readHistory({ thread: turn.thread, before: number, head: 9, tail: 9 })).map(
          entry => entry.nativeId,
        )
      expect(await before(turn.merged?.[0] ?? 0)).toEqual([])
      await store.commit(turn, sketchAnswer(turn, 'both'))
      const { message } = await store.admit(said('m3', merge), 'c')
      expect(await before(message)).toEqual(['m1', 'm2', 'answer to m2'])
    }),
  )
  test(
    'within its window a message waits for more',
    withStore(open, async ({ store, now, advance }) => {
      const patient = { mode: 'merge', windowMs: 2_000 } as const
      await store.admit(said('m1', patient), 'c')
      expect(await leaseTurns(store)).toEqual([])
      expect(await store.nextDue()).toBe(now() + 2_000)
      advance(1_999)
      await store.admit(said('m2', patient), 'c')
      expect(await leaseTurns(store)).toEqual([])
      advance(1)
      const turn = await leaseOnlyTurn(store)
      expect(wordsOf(turn)).toEqual(['words of m1', 'words of m2'])
      await store.admit(said('m3', patient), 'c')
      await store.commit(turn, sayNothing())
      expect(await leaseTurns(store)).toEqual([])
      advance(2_000)
      expect((await leaseOnlyTurn(store)).content.id).toBe('m3')
    }),
  )
}

function describeMergeBounds(open: OpenStore): void {
  const others: readonly (readonly [string, IntakeSketch])[] = [
    ['somebody else', { message: { sender: sketchProvenSender('bob') } }],
    ['who has not proven it', { message: { sender: { address: ada.address, auth_method: 'none', verified: false } } }],
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
    ['a reaction of the same', { message: { sender: ada, kind: 'reaction' } }],
    [
      'a decision of the same',
      {
        message: {
          sender: ada,
          policy_resolution: { in_reply_to_state: 's', kind: 'k', outcome: 'accepted' } as never,
        },
      },
    ],
    ['the same in a task', { task: { owner: 'o', id: 'task', context: 't' } }],
    ['the same, for an agent that takes each in its order', { lane: undefined }],
  ]
  test.each(others)('%s is answered apart, and the order stays', async (_who, sketch) => {
    await withStore(open, async ({ store }) => {
      await admitAll(store, [said('m1', merge), said('m2', merge), said('other', merge, sketch), said('m3', merge)])
      const seen: (readonly string[])[] = []
      for (let turn = await leaseOnlyTurn(store); ; turn = await leaseOnlyTurn(store)) {
        seen.push([...(turn.content.merged ?? []).map(({ id }) => id), turn.content.id])
        await store.commit(turn, sayNothing())
        if (turn.content.id === 'm3') break
      }
      expect(seen).toEqual([['m1', 'm2'], ['other'], ['m3']])
    })()
  })
  test(
    'a turn answers only so many messages and so many bytes; what is left is the next one',
    withStore(open, async ({ store }) => {
      const ids = Array.from({ length: mergeBounds.messages + 3 }, (_, at) => `m${at}`)
      await admitAll(
        store,
        ids.map(id => said(id, merge)),
      )
      const many = await leaseOnlyTurn(store)
      expect(many.merged).toHaveLength(mergeBounds.messages - 1)
      await store.commit(many, sayNothing())
      const rest = await leaseOnlyTurn(store)
      expect(rest.merged).toHaveLength(2)
      await store.commit(rest, sayNothing())
      const parts = [{ kind: 'text', mime: 'text/plain', content: 'x'.repeat(mergeBounds.bytes / 2) }] as const
      await admitAll(
        store,
        ['l1', 'l2', 'l3'].map(id => said(id, merge, { message: { parts: [...parts] } })),
      )
      const large = await leaseOnlyTurn(store)
      expect([large.content.id, large.merged]).toEqual(['l1', undefined])
    }),
  )
}

function describeMergedEnds(open: OpenStore): void {
  test(
    'a merged turn whose worker died comes again whole; nothing joins it, nothing is answered twice',
    withStore(open, async ({ store, advance }) => {
      await admitAll(
        store,
        ['m1', 'm2'].map(id => said(id, merge)),
      )
      const lost = await leaseOnlyTurn(store)
      await store.admit(said('m3', merge), 'c')
      advance(leaseMs)
      const again = await leaseOnlyTurn(store)
      expect(again).toMatchObject({ message: lost.message, merged: lost.merged, crashes: 1 })
      expect(wordsOf(again)).toEqual(['words of m1', 'words of m2'])
      await expect(store.commit(lost, sketchAnswer(lost, 'late'))).rejects.toThrow(LeaseLost)
      await store.commit(again, sketchAnswer(again, 'in time'))
      expect((await leaseOnlyTurn(store)).content.id).toBe('m3')
    }),
  )
  test(
    'a merged turn that is given back waits whole',
    withStore(open, async ({ store, now, advance }) => {
      await admitAll(
        store,
        ['m1', 'm2'].map(id => said(id, merge)),
      )
      await store.release(await leaseOnlyTurn(store), { dueAt: now() + 1_000, error: 'busy' })
      expect((await store.count()).messages).toMatchObject({ received: 2, working: 0 })
      await store.admit(said('m3', merge), 'c')
      advance(1_000)
      expect(wordsOf(await leaseOnlyTurn(store))).toEqual(['words of m1', 'words of m2'])
      expect((await store.count()).messages).toMatchObject({ received: 1, working: 2 })
    }),
  )
  test(
    'messages of one task are merged, and canceling it ends all of them',
    withStore(open, async ({ store }) => {
      const task = { owner: 'ada', id: 'task', context: 't' }
      await admitAll(
        store,
        ['m1', 'm2'].map(id => said(id, merge, { task })),
      )
      const turn = await leaseOnlyTurn(store)
      expect(turn.merged).toHaveLength(1)
      await store.commit(turn, sketchAnswer(turn, 'both'))
      expect(await store.findTask(task)).toMatchObject({ state: 'completed', response: { in_reply_to: 'm2' } })
      const next = { ...task, id: 'next' }
      await admitAll(
        store,
        ['m3', 'm4', 'm5'].map(id => said(id, merge, { task: next })),
      )
      const running = await leaseOnlyTurn(store)
      expect(await store.cancelTask(next)).toBe(true)
      await expect(store.commit(running, sayNothing())).rejects.toThrow(LeaseLost)
      expect((await store.count()).messages).toMatchObject({ answered: 2, failed: 3, working: 0, received: 0 })
      expect(await leaseTurns(store)).toEqual([])
    }),
  )
}

function describeInterrupting(open: OpenStore): void {
  test(
    'a newer message of the same sender ends his turn that runs; what it says later is thrown away, its text stays said',
    withStore(open, async ({ store }) => {
      const { message } = await store.admit(said('m1', interrupt), 'c')
      const old = await leaseOnlyTurn(store)
      const notices: unknown[] = []
      store.listen(`message:${message}`, notice => notices.push(notice))
      await store.admit(said('m2', interrupt), 'c')
      expect(notices).toEqual([{ kind: 'interrupted' }])
      const turn = await leaseOnlyTurn(store)
      expect(turn.content.id).toBe('m2')
      await expect(store.commit(old, sketchAnswer(old, 'late', ['x']))).rejects.toThrow(LeaseLost)
      await store.commit(turn, sketchAnswer(turn, 'newest', ['x']))
      expect(await stateOf(store, 'm1')).toMatchObject({
        state: 'ignored',
        error: 'interrupted by a newer message',
        response: undefined,
      })
      expect(await store.listDeliveries({ limit: 9 })).toMatchObject([{ message_id: 'm2' }])
      const history = await store.readHistory({ thread: turn.thread, before: turn.message, head: 0, tail: 9 })
      expect(history.map(({ nativeId }) => nativeId)).toEqual(['m1'])
      expect((await store.count()).messages).toMatchObject({ ignored: 1, answered: 1, working: 0, received: 0 })
    }),
  )
  test(
    'nobody ends the turn of anybody else, nor of what has no proven sender',
    withStore(open, async ({ store }) => {
      const forged: IntakeSketch = {
        message: { sender: { ...ada, auth_method: 'none', verified: false, identities: [] } },
      }
      await store.admit(said('m1', interrupt), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.admit(said('forged', interrupt, forged), 'c')
      await store.admit(said('bob', interrupt, { message: { sender: sketchProvenSender('bob') } }), 'c')
      await store.commit(turn, sketchAnswer(turn, 'undisturbed'))
      expect((await leaseOnlyTurn(store)).content.id).toBe('forged')
    }),
  )
  test(
    'a flood interrupts so many runs and no more, and leaves one message waiting: the newest',
    withStore(open, async ({ store }) => {
      const runs: Turn[] = []
      for (let at = 0; at < 50; at += 1) {
        await store.admit(said(`m${at}`, interrupt), 'c')
        runs.push(...(await leaseTurns(store)))
      }
      expect(messageIdsOf(runs)).toEqual(Array.from({ length: maxAborts + 1 }, (_, at) => `m${at}`))
      expect((await store.count()).messages).toMatchObject({ working: 1, received: 1, ignored: 48 })
      const left = runs.at(-1)
      if (left) await store.commit(left, sketchAnswer(left, 'at last'))
      const newest = await leaseOnlyTurn(store)
      expect(newest.content.id).toBe('m49')
      await store.admit(said('m50', interrupt), 'c')
      expect((await leaseOnlyTurn(store)).content.id).toBe('m50')
      await expect(store.commit(newest, sayNothing())).rejects.toThrow(LeaseLost)
    }),
  )
  test(
    'within a task only its own turn is interrupted, and the task goes on with the newer message',
    withStore(open, async ({ store }) => {
      const task = { owner: 'ada', id: 'one', context: 't' }
      await store.admit(said('m1', interrupt, { task }), 'c')
      const one = await leaseOnlyTurn(store)
      await store.admit(said('m2', interrupt, { task: { ...task, id: 'two' } }), 'c')
      expect(await leaseTurns(store)).toEqual([])
      await store.admit(said('m3', interrupt, { task }), 'c')
      await expect(store.commit(one, sayNothing())).rejects.toThrow(LeaseLost)
      expect(await store.findTask(task)).toMatchObject({ state: 'submitted' })
      const two = await leaseOnlyTurn(store)
      await store.commit(two, sketchAnswer(two, 'two'))
      const three = await leaseOnlyTurn(store)
      await store.commit(three, sketchAnswer(three, 'three'))
      expect(await store.findTask(task)).toMatchObject({ state: 'completed', response: { in_reply_to: 'm3' } })
    }),
  )
}

function describeShares(open: OpenStore): void {
  const request = { limit: 9, leaseMs, shares: { most: 9, mostOf: new Map([['echo', 2]]), taken: new Map() } }
  test(
    'an agent with a share of its own has no more turns, whoever holds them',
    withStore(open, async ({ store, advance }) => {
      await admitAll(
        store,
        ['m1', 'm2', 'm3', 'm4'].map(id => sketchIntake(id)),
      )
      await store.admit({ ...sketchIntake('h'), agent: 'help' }, 'c')
      const one = await store.leaseTurns({ ...request, holder: 'one', limit: 1 })
      expect(messageIdsOf(one)).toEqual(['m1'])
      expect(messageIdsOf(await store.leaseTurns({ ...request, holder: 'two' }))).toEqual(['m2', 'h'])
      expect(await store.leaseTurns({ ...request, holder: 'three' })).toEqual([])
      advance(leaseMs)
      expect(messageIdsOf(await store.leaseTurns({ ...request, holder: 'three' }))).toContain('m3')
    }),
  )
  test(
    'a turn that waits for another agent takes nothing of the share',
    withStore(open, async ({ store }) => {
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
