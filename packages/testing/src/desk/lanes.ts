import type { Desk, IdentityEvidence, Sender, Turn, TurnLane } from '@postern/core'
import { LeaseLost, maxAborts, mergeBounds } from '@postern/core'
import { describe, expect, test } from 'vitest'
import type { IntakeSketch, OpenDesk } from './under-test.ts'
import {
  admitAll,
  idsOf,
  inThread,
  leaseMs,
  leaseOnlyTurn,
  leaseTurns,
  sayNothing,
  sketchAnswer,
  sketchIntake,
  withDesk,
} from './under-test.ts'

export function laneContract(open: OpenDesk): void {
  describe('lanes', () => {
    describeMerging(open)
    describeMergeBounds(open)
    describeMergedEnds(open)
    describeInterrupting(open)
    describeShares(open)
  })
}

/** Somebody who has proven who he is. */
export function provenSender(name: string, rights: Partial<IdentityEvidence> = {}): Sender {
  const address = `@${name}@peer.test`
  const evidence: IdentityEvidence = {
    subject: `https://peer.test/${name}`,
    issuer: 'peer.test',
    method: 'urn:mentionable:auth:a2a-jwt:v0.1',
    assurance: 'oauth',
    audience: '@echo@agents.test',
    issued_at: '2026-01-01T00:00:00.000Z',
    proof: { type: 'transport', verified_by: '@echo@agents.test' },
    ...rights,
  }
  return { address, auth_method: 'a2a-jwt', verified: true, identities: [evidence] }
}

const ada = provenSender('ada')
const merge: TurnLane = { mode: 'merge' }
const interrupt: TurnLane = { mode: 'interrupt' }

function said(id: string, lane: TurnLane, { message, ...sketch }: IntakeSketch = {}) {
  return sketchIntake(id, inThread('t', { lane, ...sketch, message: { sender: ada, ...message } }))
}

const wordsOf = ({ content }: Turn) => content.parts.map(part => (part.kind === 'text' ? part.content : part.kind))

async function stateOf(desk: Desk, id: string) {
  const { state, error, merged_into, response } = (await desk.findMessage(id)) ?? {}
  return { state, error, merged_into, response: response?.id }
}

function describeMerging(open: OpenDesk): void {
  test(
    'what one sender says while a turn of the thread runs is one turn, answered once, to the last',
    withDesk(open, async ({ desk }) => {
      await desk.admit(said('m1', merge), 'c')
      const first = await leaseOnlyTurn(desk)
      const [m2, m3, m4] = await admitAll(
        desk,
        ['m2', 'm3', 'm4'].map(id => said(id, merge, { flags: [`flag of ${id}`] })),
      )
      expect(await leaseTurns(desk)).toEqual([])
      const notices: string[] = []
      for (const number of [m2, m3, m4]) {
        desk.listen(`message:${number}`, notice => notices.push(`${number} ${(notice as { kind: string }).kind}`))
      }
      await desk.commit(first, sketchAnswer(first, 'one'))
      const turn = await leaseOnlyTurn(desk)
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
      expect((await desk.count()).messages).toMatchObject({ answered: 1, working: 3, received: 0 })
      await desk.commit(turn, sketchAnswer(turn, 'all', ['x']))
      for (const id of ['m2', 'm3']) {
        expect(await stateOf(desk, id)).toEqual({
          state: 'answered',
          error: undefined,
          merged_into: m4,
          response: 'answer to m4',
        })
      }
      expect(await stateOf(desk, 'm4')).toMatchObject({ state: 'answered', merged_into: undefined })
      expect(notices.sort()).toEqual([`${m2} settled`, `${m3} settled`, `${m4} settled`])
      expect(await desk.listDeliveries({ limit: 9 })).toHaveLength(1)
      expect((await desk.count()).messages).toMatchObject({ answered: 4, working: 0, received: 0 })
      expect(await leaseTurns(desk)).toEqual([])
    }),
  )
  test(
    'what was merged stands once in the history, behind what was answered before it',
    withDesk(open, async ({ desk }) => {
      await admitAll(
        desk,
        ['m1', 'm2'].map(id => said(id, merge)),
      )
      const turn = await leaseOnlyTurn(desk)
      const before = async (number: number) =>
        (await desk.readHistory({ thread: turn.thread, before: number, head: 9, tail: 9 })).map(entry => entry.nativeId)
      expect(await before(turn.merged?.[0] ?? 0)).toEqual([])
      await desk.commit(turn, sketchAnswer(turn, 'both'))
      const { message } = await desk.admit(said('m3', merge), 'c')
      expect(await before(message)).toEqual(['m1', 'm2', 'answer to m2'])
    }),
  )
  test(
    'within its window a message waits for more',
    withDesk(open, async ({ desk, now, advance }) => {
      const patient = { mode: 'merge', windowMs: 2_000 } as const
      await desk.admit(said('m1', patient), 'c')
      expect(await leaseTurns(desk)).toEqual([])
      expect(await desk.nextDue()).toBe(now() + 2_000)
      advance(1_999)
      await desk.admit(said('m2', patient), 'c')
      expect(await leaseTurns(desk)).toEqual([])
      advance(1)
      const turn = await leaseOnlyTurn(desk)
      expect(wordsOf(turn)).toEqual(['words of m1', 'words of m2'])
      await desk.admit(said('m3', patient), 'c')
      await desk.commit(turn, sayNothing())
      expect(await leaseTurns(desk)).toEqual([])
      advance(2_000)
      expect((await leaseOnlyTurn(desk)).content.id).toBe('m3')
    }),
  )
}

function describeMergeBounds(open: OpenDesk): void {
  const others: readonly (readonly [string, IntakeSketch])[] = [
    ['somebody else', { message: { sender: provenSender('bob') } }],
    ['who has not proven it', { message: { sender: { address: ada.address, auth_method: 'none', verified: false } } }],
    ['the same with other rights', { message: { sender: provenSender('ada', { on_behalf_of: ['@root@peer.test'] }) } }],
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
    await withDesk(open, async ({ desk }) => {
      await admitAll(desk, [said('m1', merge), said('m2', merge), said('other', merge, sketch), said('m3', merge)])
      const seen: (readonly string[])[] = []
      for (let turn = await leaseOnlyTurn(desk); ; turn = await leaseOnlyTurn(desk)) {
        seen.push([...(turn.content.merged ?? []).map(({ id }) => id), turn.content.id])
        await desk.commit(turn, sayNothing())
        if (turn.content.id === 'm3') break
      }
      expect(seen).toEqual([['m1', 'm2'], ['other'], ['m3']])
    })()
  })
  test(
    'a turn answers only so many messages and so many bytes; what is left is the next one',
    withDesk(open, async ({ desk }) => {
      const ids = Array.from({ length: mergeBounds.messages + 3 }, (_, at) => `m${at}`)
      await admitAll(
        desk,
        ids.map(id => said(id, merge)),
      )
      const many = await leaseOnlyTurn(desk)
      expect(many.merged).toHaveLength(mergeBounds.messages - 1)
      await desk.commit(many, sayNothing())
      const rest = await leaseOnlyTurn(desk)
      expect(rest.merged).toHaveLength(2)
      await desk.commit(rest, sayNothing())
      const parts = [{ kind: 'text', mime: 'text/plain', content: 'x'.repeat(mergeBounds.bytes / 2) }] as const
      await admitAll(
        desk,
        ['l1', 'l2', 'l3'].map(id => said(id, merge, { message: { parts: [...parts] } })),
      )
      const large = await leaseOnlyTurn(desk)
      expect([large.content.id, large.merged]).toEqual(['l1', undefined])
    }),
  )
}

function describeMergedEnds(open: OpenDesk): void {
  test(
    'a merged turn whose worker died comes again whole; nothing joins it, nothing is answered twice',
    withDesk(open, async ({ desk, advance }) => {
      await admitAll(
        desk,
        ['m1', 'm2'].map(id => said(id, merge)),
      )
      const lost = await leaseOnlyTurn(desk)
      await desk.admit(said('m3', merge), 'c')
      advance(leaseMs)
      const again = await leaseOnlyTurn(desk)
      expect(again).toMatchObject({ message: lost.message, merged: lost.merged, crashes: 1 })
      expect(wordsOf(again)).toEqual(['words of m1', 'words of m2'])
      await expect(desk.commit(lost, sketchAnswer(lost, 'late'))).rejects.toThrow(LeaseLost)
      await desk.commit(again, sketchAnswer(again, 'in time'))
      expect((await leaseOnlyTurn(desk)).content.id).toBe('m3')
    }),
  )
  test(
    'a merged turn that is given back waits whole',
    withDesk(open, async ({ desk, now, advance }) => {
      await admitAll(
        desk,
        ['m1', 'm2'].map(id => said(id, merge)),
      )
      await desk.release(await leaseOnlyTurn(desk), { dueAt: now() + 1_000, error: 'busy' })
      expect((await desk.count()).messages).toMatchObject({ received: 2, working: 0 })
      await desk.admit(said('m3', merge), 'c')
      advance(1_000)
      expect(wordsOf(await leaseOnlyTurn(desk))).toEqual(['words of m1', 'words of m2'])
      expect((await desk.count()).messages).toMatchObject({ received: 1, working: 2 })
    }),
  )
  test(
    'messages of one task are merged, and canceling it ends all of them',
    withDesk(open, async ({ desk }) => {
      const task = { owner: 'ada', id: 'task', context: 't' }
      await admitAll(
        desk,
        ['m1', 'm2'].map(id => said(id, merge, { task })),
      )
      const turn = await leaseOnlyTurn(desk)
      expect(turn.merged).toHaveLength(1)
      await desk.commit(turn, sketchAnswer(turn, 'both'))
      expect(await desk.findTask(task)).toMatchObject({ state: 'completed', response: { in_reply_to: 'm2' } })
      const next = { ...task, id: 'next' }
      await admitAll(
        desk,
        ['m3', 'm4', 'm5'].map(id => said(id, merge, { task: next })),
      )
      const running = await leaseOnlyTurn(desk)
      expect(await desk.cancelTask(next)).toBe(true)
      await expect(desk.commit(running, sayNothing())).rejects.toThrow(LeaseLost)
      expect((await desk.count()).messages).toMatchObject({ answered: 2, failed: 3, working: 0, received: 0 })
      expect(await leaseTurns(desk)).toEqual([])
    }),
  )
}

function describeInterrupting(open: OpenDesk): void {
  test(
    'a newer message of the same sender ends his turn that runs; what it says later is thrown away, its text stays said',
    withDesk(open, async ({ desk }) => {
      const { message } = await desk.admit(said('m1', interrupt), 'c')
      const old = await leaseOnlyTurn(desk)
      const notices: unknown[] = []
      desk.listen(`message:${message}`, notice => notices.push(notice))
      await desk.admit(said('m2', interrupt), 'c')
      expect(notices).toEqual([{ kind: 'interrupted' }])
      const turn = await leaseOnlyTurn(desk)
      expect(turn.content.id).toBe('m2')
      await expect(desk.commit(old, sketchAnswer(old, 'late', ['x']))).rejects.toThrow(LeaseLost)
      await desk.commit(turn, sketchAnswer(turn, 'newest', ['x']))
      expect(await stateOf(desk, 'm1')).toMatchObject({
        state: 'ignored',
        error: 'interrupted by a newer message',
        response: undefined,
      })
      expect(await desk.listDeliveries({ limit: 9 })).toMatchObject([{ message_id: 'm2' }])
      const history = await desk.readHistory({ thread: turn.thread, before: turn.message, head: 0, tail: 9 })
      expect(history.map(({ nativeId }) => nativeId)).toEqual(['m1'])
      expect((await desk.count()).messages).toMatchObject({ ignored: 1, answered: 1, working: 0, received: 0 })
    }),
  )
  test(
    'nobody ends the turn of anybody else, nor of what has no proven sender',
    withDesk(open, async ({ desk }) => {
      const forged: IntakeSketch = {
        message: { sender: { ...ada, auth_method: 'none', verified: false, identities: [] } },
      }
      await desk.admit(said('m1', interrupt), 'c')
      const turn = await leaseOnlyTurn(desk)
      await desk.admit(said('forged', interrupt, forged), 'c')
      await desk.admit(said('bob', interrupt, { message: { sender: provenSender('bob') } }), 'c')
      await desk.commit(turn, sketchAnswer(turn, 'undisturbed'))
      expect((await leaseOnlyTurn(desk)).content.id).toBe('forged')
    }),
  )
  test(
    'a flood interrupts so many runs and no more, and leaves one message waiting: the newest',
    withDesk(open, async ({ desk }) => {
      const runs: Turn[] = []
      for (let at = 0; at < 50; at += 1) {
        await desk.admit(said(`m${at}`, interrupt), 'c')
        runs.push(...(await leaseTurns(desk)))
      }
      expect(idsOf(runs)).toEqual(Array.from({ length: maxAborts + 1 }, (_, at) => `m${at}`))
      expect((await desk.count()).messages).toMatchObject({ working: 1, received: 1, ignored: 48 })
      const left = runs.at(-1)
      if (left) await desk.commit(left, sketchAnswer(left, 'at last'))
      const newest = await leaseOnlyTurn(desk)
      expect(newest.content.id).toBe('m49')
      await desk.admit(said('m50', interrupt), 'c')
      expect((await leaseOnlyTurn(desk)).content.id).toBe('m50')
      await expect(desk.commit(newest, sayNothing())).rejects.toThrow(LeaseLost)
    }),
  )
  test(
    'within a task only its own turn is interrupted, and the task goes on with the newer message',
    withDesk(open, async ({ desk }) => {
      const task = { owner: 'ada', id: 'one', context: 't' }
      await desk.admit(said('m1', interrupt, { task }), 'c')
      const one = await leaseOnlyTurn(desk)
      await desk.admit(said('m2', interrupt, { task: { ...task, id: 'two' } }), 'c')
      expect(await leaseTurns(desk)).toEqual([])
      await desk.admit(said('m3', interrupt, { task }), 'c')
      await expect(desk.commit(one, sayNothing())).rejects.toThrow(LeaseLost)
      expect(await desk.findTask(task)).toMatchObject({ state: 'submitted' })
      const two = await leaseOnlyTurn(desk)
      await desk.commit(two, sketchAnswer(two, 'two'))
      const three = await leaseOnlyTurn(desk)
      await desk.commit(three, sketchAnswer(three, 'three'))
      expect(await desk.findTask(task)).toMatchObject({ state: 'completed', response: { in_reply_to: 'm3' } })
    }),
  )
}

function describeShares(open: OpenDesk): void {
  const request = { limit: 9, leaseMs, shares: { most: 9, mostOf: new Map([['echo', 2]]), taken: new Map() } }
  test(
    'an agent with a share of its own has no more turns, whoever holds them',
    withDesk(open, async ({ desk, advance }) => {
      await admitAll(
        desk,
        ['m1', 'm2', 'm3', 'm4'].map(id => sketchIntake(id)),
      )
      await desk.admit({ ...sketchIntake('h'), agent: 'help' }, 'c')
      const one = await desk.leaseTurns({ ...request, holder: 'one', limit: 1 })
      expect(idsOf(one)).toEqual(['m1'])
      expect(idsOf(await desk.leaseTurns({ ...request, holder: 'two' }))).toEqual(['m2', 'h'])
      expect(await desk.leaseTurns({ ...request, holder: 'three' })).toEqual([])
      advance(leaseMs)
      expect(idsOf(await desk.leaseTurns({ ...request, holder: 'three' }))).toContain('m3')
    }),
  )
  test(
    'a turn that waits for another agent takes nothing of the share',
    withDesk(open, async ({ desk }) => {
      await admitAll(
        desk,
        ['m1', 'm2', 'm3', 'm4'].map(id => sketchIntake(id)),
      )
      const [m1, m2] = await desk.leaseTurns({ ...request, holder: 'one' })
      if (!m1 || !m2) throw new Error('expected two turns')
      await desk.noteWaiting(m1, true)
      expect(idsOf(await desk.leaseTurns({ ...request, holder: 'two' }))).toEqual(['m3'])
      await desk.noteWaiting(m1, false)
      await desk.commit(m2, sayNothing())
      expect(await desk.leaseTurns({ ...request, holder: 'three' })).toEqual([])
      await desk.commit(m1, sayNothing())
      expect(idsOf(await desk.leaseTurns({ ...request, holder: 'three' }))).toEqual(['m4'])
    }),
  )
}
