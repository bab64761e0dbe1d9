// Tests how a store accepts decisions on requirements and queues their turns.
import type { RequirementDecision } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import {
  adaSketch,
  admitRequirement,
  fromAda,
  requirementDigestOf,
  requirementMs,
  sketchDecision,
} from '../setup/requirement-sketch.ts'
import { adasTask, sketchTaskIntake } from '../setup/task-sketches.ts'
import type { IntakeSketch, OpenStore } from '../setup/under-test.ts'
import {
  inThread,
  leaseDeliveries,
  leaseOnlyTurn,
  leaseTurns,
  sayNothing,
  sketchAnswer,
  sketchIntake,
  sketchResponse,
  withStore,
} from '../setup/under-test.ts'

export function decisionContract(openStore: OpenStore): void {
  describe('decisions of requirements', () => {
    describeDecisions(openStore)
    describeBroughtDecisions(openStore)
  })
}

function describeDecisions(openStore: OpenStore): void {
  test(
    'resolveRequirement() resolves a requirement and queues a turn of its sender, in its thread and channel',
    withStore(openStore, async storeSetup => {
      const { store } = storeSetup
      const requirement = await admitRequirement(
        storeSetup,
        'd1',
        fromAda(inThread('talk', { target: { inbox: 'a' } })),
      )
      const resolution = await store.resolveRequirement(sketchDecision('d1'), 'c2')
      expect(resolution).toMatchObject({
        outcome: 'resolved',
        requirement: { status: 'granted', resolvedAt: storeSetup.now() },
      })
      const turn = await leaseOnlyTurn(store)
      expect(turn).toMatchObject({
        agent: 'echo',
        via: 'a2a',
        thread: requirement.thread,
        target: { inbox: 'a' },
        correlationId: 'c2',
        flags: ['policy_resolution'],
        content: {
          sender: requirement.content.sender,
          recipient: requirement.content.recipient,
          parts: [{ kind: 'text', mime: 'text/plain', content: 'Agreed: May I d1?' }],
          policy_resolution: {
            in_reply_to_state: requirementDigestOf('d1'),
            requirement: 'd1',
            kind: 'consent_required',
            outcome: 'granted',
            resolver: { method: 'link' },
            data: { 'test.id': 'd1' },
          },
        },
      })
      const history = await store.readHistory({ thread: turn.thread, beforeMessage: turn.message, head: 9, tail: 9 })
      expect(history.map(({ nativeId }) => nativeId)).toEqual(['asked d1', 'answer to asked d1'])
      await store.commit(turn, sketchAnswer(turn, 'thank you', ['inbox a']))
      expect((await leaseDeliveries(store)).map(({ to }) => to)).toEqual(['inbox a'])
    }),
  )
  test(
    'rerunDecision() queues only a failed turn of a decision again',
    withStore(openStore, async storeSetup => {
      const { store } = storeSetup
      await admitRequirement(storeSetup, 'd1', fromAda(inThread('talk', { target: { inbox: 'a' } })))
      expect(await store.rerunDecision('d1', 'c')).toEqual({ outcome: 'refused', reason: 'undecided' })
      expect(await store.rerunDecision('unknown', 'c')).toEqual({ outcome: 'refused', reason: 'undecided' })
      await store.resolveRequirement(sketchDecision('d1', { args: { amount: 3 } }), 'c2')
      expect(await store.rerunDecision('d1', 'c')).toEqual({ outcome: 'refused', reason: 'running' })
      const firstTurn = await leaseOnlyTurn(store)
      const failedAnswer = sketchResponse(firstTurn, 'sorry', 'failed')
      await store.commit(firstTurn, { response: failedAnswer, deliveries: [], error: 'the model is away' })
      const reruns = await Promise.all([store.rerunDecision('d1', 'c3'), store.rerunDecision('d1', 'c3')])
      expect(reruns.map(({ outcome }) => outcome).toSorted()).toEqual(['admitted', 'refused'])
      const secondLease = await leaseOnlyTurn(store)
      expect(secondLease.content).toMatchObject({
        sender: firstTurn.content.sender,
        parts: firstTurn.content.parts,
        policy_resolution: { requirement: 'd1', outcome: 'granted', args: { amount: 3 } },
      })
      expect(secondLease.content.id).not.toBe(firstTurn.content.id)
      await store.commit(secondLease, sketchAnswer(secondLease, 'thank you', ['inbox a']))
      expect(await store.rerunDecision('d1', 'c4')).toEqual({ outcome: 'refused', reason: 'done' })
    }),
  )
  test(
    'the decision of an agent or a list does not count as a person’s',
    withStore(openStore, async storeSetup => {
      const flags = ['from_agent', 'by_list', 'bulk']
      await admitRequirement(storeSetup, 'd1', fromAda(inThread('talk', { flags })))
      await storeSetup.store.resolveRequirement(sketchDecision('d1'), 'c2')
      const turn = await leaseOnlyTurn(storeSetup.store)
      expect(turn.flags).toEqual(['policy_resolution', 'from_agent', 'by_list'])
    }),
  )
  test(
    'exactly one of many simultaneous decisions counts (MN-7.2)',
    withStore(openStore, async storeSetup => {
      const { store } = storeSetup
      await admitRequirement(storeSetup, 'd1')
      const outcomes = ['granted', 'declined', 'granted', 'declined'] as const
      const resolutions = await Promise.all(
        outcomes.map(outcome => store.resolveRequirement(sketchDecision('d1', { outcome }), 'c')),
      )
      expect(resolutions.filter(({ outcome }) => outcome === 'resolved')).toHaveLength(1)
      expect(resolutions.flatMap(resolution => (resolution.outcome === 'refused' ? resolution.reason : []))).toEqual([
        'used',
        'used',
        'used',
      ])
      expect(await leaseTurns(store)).toHaveLength(1)
    }),
  )
  test(
    'the store refuses a decision of an unknown, expired, resolved or different requirement without effect',
    withStore(openStore, async storeSetup => {
      const { store } = storeSetup
      await admitRequirement(storeSetup, 'd1')
      const reasonOf = async (decision: RequirementDecision) => {
        const resolution = await store.resolveRequirement(decision, 'c')
        return resolution.outcome === 'refused' ? resolution.reason : resolution.outcome
      }
      expect(await reasonOf(sketchDecision('other'))).toBe('unknown')
      expect(await reasonOf(sketchDecision('d1', { kind: 'payment_required' }))).toBe('kind')
      storeSetup.advance(requirementMs)
      expect(await reasonOf(sketchDecision('d1'))).toBe('expired')
      await admitRequirement(storeSetup, 'd2')
      expect(await reasonOf(sketchDecision('d2', { outcome: 'declined' }))).toBe('resolved')
      expect(await reasonOf(sketchDecision('d2'))).toBe('used')
      expect(await leaseTurns(store)).toHaveLength(1)
    }),
  )
  test(
    'a receipt pays only one requirement',
    withStore(openStore, async storeSetup => {
      const { store } = storeSetup
      const receipt = { key: 'pay.test 1', provider: 'pay.test', reference: '1' }
      await admitRequirement(storeSetup, 'd1')
      await admitRequirement(storeSetup, 'd2')
      expect(await store.resolveRequirement(sketchDecision('d1', { receipt }), 'c')).toMatchObject({
        outcome: 'resolved',
        requirement: { receipt: 'pay.test 1' },
      })
      const secondResolution = await store.resolveRequirement(sketchDecision('d2', { receipt }), 'c')
      expect(secondResolution).toMatchObject({ outcome: 'refused', reason: 'receipt_used' })
    }),
  )
  test('a decision survives a crash, with its turn', async () => {
    const storeSetup = await openStore()
    await admitRequirement(storeSetup, 'd1')
    await storeSetup.store.resolveRequirement(sketchDecision('d1'), 'c')
    const reopened = await storeSetup.reopen?.()
    const store = reopened ?? storeSetup.store
    expect(await store.findRequirement({ id: 'd1' })).toMatchObject({ status: 'granted' })
    expect((await leaseOnlyTurn(store)).content.policy_resolution).toMatchObject({ requirement: 'd1' })
    await reopened?.close()
    await storeSetup.store.close()
  })
}

function describeBroughtDecisions(openStore: OpenStore): void {
  const inTask = (sketch: IntakeSketch = {}) => fromAda({ ...sketchTaskIntake(adasTask), ...sketch })
  const refusal = (description: string) => ({
    code: 'forbidden',
    message: `Cannot take policy_resolution: in_reply_to_state ${description}`,
    violations: [{ field: 'message.metadata.mentionable.policy_resolution.in_reply_to_state', description }],
  })
  test(
    'a message with a decision resolves the requirement at its admission, and is a duplicate the next time',
    withStore(openStore, async storeSetup => {
      const { store } = storeSetup
      await admitRequirement(storeSetup, 'd1', inTask())
      const intake = sketchIntake('yes', inTask({ resolution: sketchDecision('d1') }))
      const { message } = await store.admit(intake, 'c')
      expect(await store.findRequirement({ id: 'd1' })).toMatchObject({ status: 'granted' })
      expect(await store.admit(intake, 'c')).toMatchObject({ outcome: 'duplicate', message })
      expect(await leaseTurns(store)).toHaveLength(1)
      const replay = sketchIntake('yes again', inTask({ resolution: sketchDecision('d1') }))
      await expect(store.admit(replay, 'c')).rejects.toMatchObject(refusal('has been used already'))
      expect(await store.findMessage('yes again')).toBeUndefined()
    }),
  )
  const bob = { ...adaSketch.message?.sender, address: '@bob@peer.test' }
  const bobs = { identities: adaSketch.message?.sender?.identities?.map(identity => ({ ...identity, subject: 'bob' })) }
  test.each<[string, IntakeSketch, string]>([
    [
      'by somebody else',
      {
        ...sketchTaskIntake(adasTask),
        message: { ...sketchTaskIntake(adasTask).message, sender: { ...bob, ...bobs } as never },
      },
      'is not known',
    ],
    ['by nobody who is known', sketchTaskIntake(adasTask), 'is not known'],
    ['for another agent', inTask({ agent: 'help' }), 'is not known'],
    [
      'in another context',
      fromAda(sketchTaskIntake({ owner: 'ada', id: 'task 2' }, 'other')),
      'belongs to another conversation',
    ],
    [
      'of another kind',
      inTask({ resolution: sketchDecision('d1', { kind: 'payment_required' }) }),
      'is of another kind',
    ],
    ['of nothing that was required', inTask({ resolution: sketchDecision('d9') }), 'is not known'],
  ])('the store refuses a decision %s without storing it, and the requirement stays open', (_, sketch, description) =>
    withStore(openStore, async storeSetup => {
      const { store } = storeSetup
      await admitRequirement(storeSetup, 'd1', inTask())
      const intake = sketchIntake('no', { resolution: sketchDecision('d1'), ...sketch })
      await expect(store.admit(intake, 'c')).rejects.toMatchObject(refusal(description))
      expect(await store.findMessage('no')).toBeUndefined()
      expect(await store.findRequirement({ id: 'd1' })).toMatchObject({ status: 'open' })
      expect(await store.findTask(adasTask)).toMatchObject({ state: 'input_required' })
      expect(await leaseTurns(store)).toEqual([])
    })(),
  )
  test(
    'an unproven sender cannot decide, not even a requirement of the same name',
    withStore(openStore, async storeSetup => {
      const { store } = storeSetup
      const { message } = inTask()
      const sender = { ...adaSketch.message?.sender, verified: false } as never
      const unproven = { message: { ...message, sender } }
      await admitRequirement(storeSetup, 'd1', inTask(unproven))
      const intake = sketchIntake('no', inTask({ ...unproven, resolution: sketchDecision('d1') }))
      await expect(store.admit(intake, 'c')).rejects.toMatchObject(refusal('is not known'))
      expect(await store.findRequirement({ id: 'd1' })).toMatchObject({ status: 'open' })
    }),
  )
  test(
    'the store refuses a decision in another task of the context, unless it opens a task there',
    withStore(openStore, async storeSetup => {
      const { store } = storeSetup
      await admitRequirement(storeSetup, 'd1', inTask())
      const otherTask = fromAda(sketchTaskIntake({ owner: 'ada', id: 'task 2' }))
      await store.admit(sketchIntake('m2', otherTask), 'c')
      await store.commit(await leaseOnlyTurn(store), sayNothing())
      const resolution = sketchDecision('d1')
      const intake = (id: string) => sketchIntake(id, { ...otherTask, resolution })
      await expect(store.admit(intake('no'), 'c')).rejects.toMatchObject(refusal('belongs to another conversation'))
      const third = fromAda(sketchTaskIntake({ owner: 'ada', id: 'task 3' }))
      await store.admit(sketchIntake('yes', { ...third, resolution }), 'c')
      expect(await store.findRequirement({ id: 'd1' })).toMatchObject({ status: 'granted' })
    }),
  )
}
