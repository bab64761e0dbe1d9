// Tests how a store remembers decisions for later calls.
import type { RememberScope } from '@postern/message'
import { describeApproval, operatorSubject, subjectOf } from '@postern/message'
import type { PlannedRequirement, Store, Turn } from '@postern/pipeline'
import { formatDeciderKey, maxRememberedDecisions } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import { messageFrom, requirementDigestOf } from '../setup/requirement-sketch.ts'
import type { OpenStore, StoreUnderTest } from '../setup/under-test.ts'
import { inThread, leaseOnlyTurn, sketchIntake, sketchResponse, withStore } from '../setup/under-test.ts'

const dayMs = 86_400_000
const days = 30

interface Sketch {
  readonly id: string
  readonly tool?: string
  readonly person?: string
  readonly thread?: string
  readonly approver?: 'sender' | 'operator'
  readonly task?: string
}

function sketchRequirement(
  turn: Turn,
  { id, tool = 'refund', approver = 'sender' }: Sketch,
  now: number,
): PlannedRequirement {
  const action = {
    action_id: id,
    kind: tool,
    summary: `May I ${tool}?`,
    preview: null,
    arguments: [],
    tool_call_id: id,
    remember: { scopes: ['conversation' as const, 'always' as const], days },
  }
  const policy = { kind: 'consent_required', message: 'May I?', approver, ...describeApproval(action) }
  const subject = approver === 'operator' ? operatorSubject : subjectOf(turn.content.sender)
  return { id, digest: requirementDigestOf(id), kind: 'consent_required', policy, subject, expiresAt: now + dayMs }
}

/** Asks for a call and decides it. */
async function decide({ store, now }: StoreUnderTest, sketch: Sketch, remember?: RememberScope, outcome = 'granted') {
  const { id, person = 'ada', thread = `talk of ${person}`, task } = sketch
  const ofTask = task === undefined ? {} : { task: { owner: person, id: task, context: thread } }
  await store.admit(sketchIntake(`asked ${id}`, inThread(thread, { message: messageFrom(person), ...ofTask })), 'c')
  const turn = await leaseOnlyTurn(store)
  const response = sketchResponse(turn, `may I ${id}`, 'input_required')
  await store.commit(turn, { response, deliveries: [], requirements: [sketchRequirement(turn, sketch, now())] })
  const decision = { digest: requirementDigestOf(id), kind: 'consent_required', resolver: { method: 'link' } } as const
  const scopedDecision = { ...decision, outcome: outcome as 'granted' | 'declined', ...(remember && { remember }) }
  const resolution = await store.resolveRequirement(scopedDecision, 'c')
  const decidedTurn = await leaseOnlyTurn(store)
  await store.commit(decidedTurn, { response: sketchResponse(decidedTurn, 'Done'), deliveries: [] })
  return { turn, resolution }
}

const listAll = (store: Store) => store.listRememberedDecisions({ agent: 'echo', limit: 100 })
const ofPerson = (name: string) => [formatDeciderKey('a2a', `@${name}@peer.test`)]

export function rememberedContract(openStore: OpenStore): void {
  describe('remembered decisions', () => {
    test(
      'exist only if the decision asks for it and takes effect (E-39)',
      withStore(openStore, async storeSetup => {
        const { store, now } = storeSetup
        await decide(storeSetup, { id: 'd1' })
        expect(await listAll(store)).toEqual([])
        const { turn, resolution } = await decide(storeSetup, { id: 'd2' }, 'always')
        const [rememberedDecision] = await listAll(store)
        expect(rememberedDecision).toMatchObject({
          requirement: 'd2',
          tool: 'refund',
          approver: 'sender',
          policy: 'direct',
          scope: 'always',
          thread: turn.thread,
          subject: JSON.stringify(['https://peer.test', 'ada']),
          address: '@ada@peer.test',
          resolver: 'link',
          given_at: new Date(now()).toISOString(),
          expires_at: new Date(now() + days * dayMs).toISOString(),
        })
        expect(await store.findRememberedDecision({ agent: 'echo', id: rememberedDecision?.id ?? '' })).toMatchObject({
          requirement: 'd2',
        })
        if (resolution.outcome !== 'resolved') throw new Error('it was not decided')
        expect(await store.findDecisionOfRequirement(resolution.requirement)).toMatchObject({ requirement: 'd2' })
        const lateDecision = {
          digest: requirementDigestOf('d2'),
          kind: 'consent_required',
          resolver: { method: 'link' },
        } as const
        await store.resolveRequirement({ ...lateDecision, outcome: 'declined', remember: 'always' }, 'c')
        expect(await listAll(store)).toMatchObject([{ policy: 'direct' }])
      }),
    )
    test(
      'no longer count for the earlier requirement after a later decision replaced them',
      withStore(openStore, async storeSetup => {
        const first = await decide(storeSetup, { id: 'd1' }, 'always')
        const second = await decide(storeSetup, { id: 'd2' }, 'always')
        const findOf = ({ resolution }: typeof first) => {
          if (resolution.outcome !== 'resolved') throw new Error('it was not decided')
          return storeSetup.store.findDecisionOfRequirement(resolution.requirement)
        }
        expect(await findOf(first)).toBeUndefined()
        expect(await findOf(second)).toMatchObject({ requirement: 'd2' })
      }),
    )
    test(
      'are the latest on a tool, separately for each scope, person and approver',
      withStore(openStore, async storeSetup => {
        const { store } = storeSetup
        await decide(storeSetup, { id: 'd1' }, 'always')
        await decide(storeSetup, { id: 'd2' }, 'always', 'declined')
        expect(await listAll(store)).toMatchObject([{ requirement: 'd2', policy: 'forbidden' }])
        await decide(storeSetup, { id: 'd3' }, 'conversation')
        await decide(storeSetup, { id: 'd4', approver: 'operator' }, 'always')
        await decide(storeSetup, { id: 'd5', person: 'bob' }, 'always')
        await decide(storeSetup, { id: 'd6', tool: 'burn' }, 'always')
        const listedDecisions = await listAll(store)
        expect(listedDecisions.map(({ requirement }) => requirement)).toEqual(['d6', 'd5', 'd4', 'd3', 'd2'])
        expect(listedDecisions[2]).toMatchObject({
          approver: 'operator',
          subject: JSON.stringify(['https://peer.test', 'ada']),
        })
        const page = await store.listRememberedDecisions({ agent: 'echo', limit: 2, after: listedDecisions[1]?.number })
        expect(page.map(({ requirement }) => requirement)).toEqual(['d4', 'd3'])
        const bobs = await store.listRememberedDecisions({ agent: 'echo', deciderKeys: ofPerson('bob'), limit: 9 })
        expect(bobs.map(({ requirement }) => requirement)).toEqual(['d5'])
        expect(await store.listRememberedDecisions({ agent: 'other', limit: 9 })).toEqual([])
      }),
    )
    test(
      'end when they expire or their own agent revokes them',
      withStore(openStore, async storeSetup => {
        const { store, advance } = storeSetup
        await decide(storeSetup, { id: 'd1' }, 'always')
        const { resolution } = await decide(storeSetup, { id: 'd2', tool: 'burn' }, 'always')
        const [burn] = await listAll(store)
        expect(await store.revokeRememberedDecision({ agent: 'other', id: burn?.id ?? '' })).toBe(false)
        expect(await store.revokeRememberedDecision({ agent: 'echo', id: burn?.id ?? '' })).toBe(true)
        expect(await store.revokeRememberedDecision({ agent: 'echo', id: burn?.id ?? '' })).toBe(false)
        if (resolution.outcome !== 'resolved') throw new Error('it was not decided')
        expect(await store.findDecisionOfRequirement(resolution.requirement)).toBeUndefined()
        advance(days * dayMs - 1)
        const [remainingDecision] = await listAll(store)
        expect(remainingDecision).toMatchObject({ requirement: 'd1' })
        advance(1)
        expect(await listAll(store)).toEqual([])
        expect(await store.findRememberedDecision({ agent: 'echo', id: remainingDecision?.id ?? '' })).toBeUndefined()
      }),
    )
    test(
      `are at most ${maxRememberedDecisions} per person, and the oldest expires`,
      withStore(openStore, async storeSetup => {
        const { store } = storeSetup
        await decide(storeSetup, { id: 'bobs', person: 'bob' }, 'always')
        for (let n = 0; n <= maxRememberedDecisions; n += 1)
          await decide(storeSetup, { id: `d${n}`, tool: `tool${n}` }, 'always')
        const ownDecisions = await store.listRememberedDecisions({
          agent: 'echo',
          deciderKeys: ofPerson('ada'),
          limit: 100,
        })
        expect([ownDecisions.length, ownDecisions.at(-1)?.tool]).toEqual([maxRememberedDecisions, 'tool1'])
        expect(
          await store.listRememberedDecisions({ agent: 'echo', deciderKeys: ofPerson('bob'), limit: 100 }),
        ).toHaveLength(1)
      }),
    )
    test(
      'for one conversation end with it, and permanent ones stay',
      withStore(openStore, async storeSetup => {
        const { store, now, advance } = storeSetup
        await decide(storeSetup, { id: 'd1', thread: 'one', task: 't1' }, 'conversation')
        await decide(storeSetup, { id: 'd2', thread: 'two', task: 't2' }, 'always')
        await decide(storeSetup, { id: 'd3', person: 'bob' }, 'conversation')
        advance(1_000)
        expect((await store.expireTasks({ unchangedSince: now(), limit: 9 })).removed).toBe(2)
        expect((await listAll(store)).map(({ requirement }) => requirement)).toEqual(['d3', 'd2'])
      }),
    )
    test(
      'end when the store forgets their person',
      withStore(openStore, async storeSetup => {
        const { store } = storeSetup
        await decide(storeSetup, { id: 'd1' }, 'always')
        await decide(storeSetup, { id: 'd2' }, 'conversation')
        await decide(storeSetup, { id: 'd3', person: 'bob' }, 'always')
        await store.forgetPerson({ agent: 'echo', addresses: [{ via: 'a2a', address: '@ada@peer.test' }] })
        expect((await listAll(store)).map(({ requirement }) => requirement)).toEqual(['d3'])
      }),
    )
  })
}
