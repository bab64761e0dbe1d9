// Tests how a store ends requirements that nobody decides in time.

import { operatorSubject } from '@postern/message'
import type { Store } from '@postern/pipeline'
import { maxOpenRequirements } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import { requirementDigestOf } from '../setup/requirement-sketch.ts'
import type { OpenStore } from '../setup/under-test.ts'
import { inThread, leaseOnlyTurn, leaseTurns, sketchIntake, sketchResponse, withStore } from '../setup/under-test.ts'

const hourMs = 3_600_000

const ada = '["https://id.test","ada"]'

interface RequirementSketch {
  /** The principal who decides; default: operators. */
  readonly subject?: string
  /** The id of the task with the requirement; default: none. */
  readonly task?: string
  /** The context of the task; default: one of its own. */
  readonly context?: string
  readonly lastsMs?: number
}

/** Admits a message in a thread of its own or in that of its task, and answers it with a requirement of this name. */
async function commitRequirement(
  { store, now }: { readonly store: Store; now(): number },
  id: string,
  { subject = operatorSubject, task, context = task, lastsMs = hourMs }: RequirementSketch = {},
): Promise<void> {
  const thread = context ?? id
  const ofTask = task === undefined ? {} : { task: { owner: ada, id: task, context: thread } }
  await store.admit(sketchIntake(`asked ${id}`, inThread(thread, ofTask)), 'c')
  const turn = await leaseOnlyTurn(store)
  const kind = 'consent_required'
  const policy = { kind, message: `May I ${id}?`, ...(subject === operatorSubject && { approver: 'operator' }) }
  const plannedRequirement = {
    id,
    digest: requirementDigestOf(id),
    kind,
    policy,
    subject,
    expiresAt: now() + lastsMs,
  } as const
  await store.commit(turn, {
    response: sketchResponse(turn, `may I ${id}`, 'input_required'),
    deliveries: [],
    requirements: [plannedRequirement],
  })
}

export function overdueContract(openStore: OpenStore): void {
  describe('overdue requirements', () => {
    test(
      'appear after their deadline, the longest waiting first, without decided ones',
      withStore(openStore, async storeSetup => {
        for (const id of ['d1', 'd2', 'd3']) {
          await commitRequirement(storeSetup, id)
          storeSetup.advance(1)
        }
        await commitRequirement(storeSetup, 'd4', { subject: ada })
        const decision = { digest: requirementDigestOf('d2'), kind: 'consent_required', outcome: 'granted' } as const
        await storeSetup.store.resolveRequirement({ ...decision, resolver: { method: 'operator' } }, 'c')
        expect(await storeSetup.store.listOverdue(9)).toEqual([])
        storeSetup.advance(hourMs)
        expect((await storeSetup.store.listOverdue(9)).map(({ id }) => id)).toEqual(['d1', 'd3', 'd4'])
        expect((await storeSetup.store.listOverdue(1)).map(({ id }) => id)).toEqual(['d1'])
      }),
    )
    test(
      'end their waiting tasks when newer ones of the conversation replace them',
      withStore(openStore, async storeSetup => {
        const tasks = Array.from({ length: maxOpenRequirements + 2 }, (_, index) => `t${index}`)
        for (const task of tasks)
          await commitRequirement(storeSetup, `of ${task}`, { subject: ada, task, context: 'one' })
        const states = await Promise.all(tasks.map(id => storeSetup.store.findTask({ owner: ada, id })))
        const waiting = Array(maxOpenRequirements).fill('input_required')
        expect(states.map(task => task?.state)).toEqual(['canceled', 'canceled', ...waiting])
        expect(await storeSetup.store.findRequirement({ id: 'of t1' })).toMatchObject({ status: 'expired' })
      }),
    )
    test(
      'end once, with a turn in their thread, and then accept no decision',
      withStore(openStore, async storeSetup => {
        const { store } = storeSetup
        await commitRequirement(storeSetup, 'd1')
        expect(await store.endOverdue('d1', 'early')).toBeUndefined()
        storeSetup.advance(hourMs)
        const endedNumbers = await Promise.all(['c2', 'c3', 'c4'].map(id => store.endOverdue('d1', id)))
        expect(endedNumbers.filter(message => message !== undefined)).toHaveLength(1)
        expect(await store.findRequirement({ id: 'd1' })).toMatchObject({
          status: 'expired',
          resolvedAt: storeSetup.now(),
          resolver: { method: 'timeout' },
        })
        const turn = await leaseOnlyTurn(store)
        expect(turn.content).toMatchObject({
          parts: [{ kind: 'text', mime: 'text/plain', content: 'Nobody decided in time: May I d1?' }],
          policy_resolution: {
            requirement: 'd1',
            outcome: 'declined',
            resolver: { method: 'timeout' },
            approver: 'operator',
          },
        })
        expect(await store.listOverdue(9)).toEqual([])
        const lateDecision = {
          digest: requirementDigestOf('d1'),
          kind: 'consent_required',
          outcome: 'granted',
        } as const
        const resolver = { method: 'operator' }
        expect(await store.resolveRequirement({ ...lateDecision, resolver }, 'c')).toMatchObject({ reason: 'expired' })
      }),
    )
    test(
      'end without a turn if nobody needs it',
      withStore(openStore, async storeSetup => {
        await commitRequirement(storeSetup, 'd1')
        storeSetup.advance(hourMs)
        expect(await storeSetup.store.endOverdue('d1')).toBeUndefined()
        expect(await storeSetup.store.listOverdue(9)).toEqual([])
        expect(await leaseTurns(storeSetup.store)).toEqual([])
        expect(await storeSetup.store.endOverdue('unknown', 'c')).toBeUndefined()
      }),
    )
    test(
      'of a person end with a turn if their task waits for them, and without one elsewhere',
      withStore(openStore, async storeSetup => {
        const { store } = storeSetup
        await commitRequirement(storeSetup, 'alone', { subject: ada })
        await commitRequirement(storeSetup, 'waiting', { subject: ada, task: 't1' })
        storeSetup.advance(hourMs)
        expect(await store.endOverdue('alone', 'c')).toBeUndefined()
        expect(await leaseTurns(store)).toEqual([])
        expect(await store.endOverdue('waiting', 'c')).toBeDefined()
        const turn = await leaseOnlyTurn(store)
        expect(turn).toMatchObject({
          task: { owner: ada, id: 't1' },
          content: {
            parts: [{ kind: 'text', mime: 'text/plain', content: 'Nobody decided in time: May I waiting?' }],
            policy_resolution: { requirement: 'waiting', outcome: 'declined', resolver: { method: 'timeout' } },
          },
        })
        await store.commit(turn, { response: sketchResponse(turn, 'then not', 'completed'), deliveries: [] })
        expect(await store.findTask({ owner: ada, id: 't1' })).toMatchObject({ state: 'completed' })
        for (const id of ['alone', 'waiting'])
          expect(await store.findRequirement({ id })).toMatchObject({ status: 'expired', resolvedAt: storeSetup.now() })
        expect(await store.listOverdue(9)).toEqual([])
      }),
    )
    test(
      'of a person end without a turn if their task waits for a newer requirement, or has ended',
      withStore(openStore, async storeSetup => {
        const { store } = storeSetup
        await commitRequirement(storeSetup, 'older', { subject: ada, task: 't1' })
        await commitRequirement(storeSetup, 'newer', { subject: ada, task: 't1', lastsMs: 2 * hourMs })
        await commitRequirement(storeSetup, 'over', { subject: ada, task: 't2' })
        await store.admit(
          sketchIntake('never mind', inThread('t2', { task: { owner: ada, id: 't2', context: 't2' } })),
          'c',
        )
        const turn = await leaseOnlyTurn(store)
        await store.commit(turn, { response: sketchResponse(turn, 'as you like', 'completed'), deliveries: [] })
        storeSetup.advance(hourMs)
        for (const id of ['older', 'over']) expect(await store.endOverdue(id, 'c')).toBeUndefined()
        expect(await leaseTurns(store)).toEqual([])
        storeSetup.advance(hourMs)
        expect(await store.endOverdue('newer', 'c')).toBeDefined()
        expect((await leaseOnlyTurn(store)).task).toMatchObject({ id: 't1' })
      }),
    )
  })
}
