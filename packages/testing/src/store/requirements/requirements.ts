import type { Answer, PlannedRequirement, RequirementDecision, Store, Turn } from '@postern/core'
import { maxOpenRequirements, subjectOf } from '@postern/core'
import { describe, expect, test } from 'vitest'
import { messageFrom, requirementDigestOf } from '../setup/requirement-sketch.ts'
import { adasTask, ofTask } from '../setup/task-sketches.ts'
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

export function requirementContract(open: OpenStore): void {
  describe('requirements', () => {
    describeLife(open)
    describeDecisions(open)
    describeBroughtDecisions(open)
    describeEnds(open)
  })
}

const hourMs = 3_600_000

/** The requirement called `id`, of whoever wrote the message. */
function sketchRequirement(turn: Turn, id: string, now: number): PlannedRequirement {
  const policy = { kind: 'consent_required', message: `May I ${id}?`, data: { 'test.id': id } }
  const subject = subjectOf(turn.content.sender)
  return { id, digest: requirementDigestOf(id), kind: 'consent_required', policy, subject, expiresAt: now + hourMs }
}

function sketchDecision(id: string, rest: Partial<RequirementDecision> = {}): RequirementDecision {
  return {
    digest: requirementDigestOf(id),
    kind: 'consent_required',
    outcome: 'granted',
    resolver: { method: 'link' },
    ...rest,
  }
}

const ada: IntakeSketch = { message: messageFrom('ada') }

const fromAda = (sketch: IntakeSketch): IntakeSketch => ({
  ...sketch,
  message: { ...ada.message, ...sketch.message },
})

/** A message in the thread, answered with a requirement of this name. */
async function requirement(
  { store, now }: { readonly store: Store; now(): number },
  id: string,
  sketch: IntakeSketch = inThread('talk'),
): Promise<Turn> {
  await store.admit(sketchIntake(`asked ${id}`, sketch), 'c')
  const turn = await leaseOnlyTurn(store)
  const response = sketchResponse(turn, `may I ${id}`, 'input_required')
  await store.commit(turn, { response, deliveries: [], requirements: [sketchRequirement(turn, id, now())] })
  return turn
}

function describeLife(open: OpenStore): void {
  test(
    'a requirement is there once its answer is, and not before',
    withStore(open, async ({ store, now, advance }) => {
      await store.admit(sketchIntake('m1', fromAda(inThread('talk'))), 'c')
      const turn = await leaseOnlyTurn(store)
      const requirements = [sketchRequirement(turn, 'd1', now())]
      const answer: Answer = { ...sketchAnswer(turn, 'May I?'), requirements }
      expect(await store.findRequirement({ id: 'd1' })).toBeUndefined()
      await store.commit(turn, answer)
      const found = await store.findRequirement({ digest: requirementDigestOf('d1') })
      expect(found).toMatchObject({
        ...requirements[0],
        agent: 'echo',
        via: 'a2a',
        message: turn.message,
        thread: turn.thread,
        status: 'open',
        issuedAt: now(),
        address: '@ada@peer.test',
      })
      expect(await store.findRequirement({ id: 'd1' })).toEqual(found)
      await expect(
        store.commit(turn, { ...answer, requirements: [sketchRequirement(turn, 'd2', now())] }),
      ).rejects.toThrow()
      expect(await store.findRequirement({ id: 'd2' })).toBeUndefined()
      advance(hourMs)
      expect(await store.findRequirement({ id: 'd1' })).toMatchObject({ status: 'expired' })
    }),
  )
  test(
    'requirements are listed newest first, by page and by status',
    withStore(open, async under => {
      for (const id of ['d1', 'd2', 'd3']) await requirement(under, id)
      await under.store.resolveRequirement(sketchDecision('d2', { outcome: 'declined' }), 'c')
      const idsFor = async (filter: Partial<Parameters<Store['listRequirements']>[0]>) =>
        (await under.store.listRequirements({ limit: 9, ...filter })).map(({ id }) => id)
      expect(await idsFor({})).toEqual(['d3', 'd2', 'd1'])
      expect(await idsFor({ status: 'open' })).toEqual(['d3', 'd1'])
      expect(await idsFor({ status: 'declined' })).toEqual(['d2'])
      const [newest] = await under.store.listRequirements({ limit: 1 })
      expect(await idsFor({ after: newest?.place ?? 0, limit: 1 })).toEqual(['d2'])
      under.advance(hourMs)
      expect(await idsFor({ status: 'expired' })).toEqual(['d3', 'd1'])
    }),
  )
  test(
    'of too many in one thread the oldest expire',
    withStore(open, async under => {
      for (let count = 0; count <= maxOpenRequirements; count += 1) await requirement(under, `d${count}`)
      await requirement(under, 'elsewhere', inThread('another'))
      expect(await under.store.findRequirement({ id: 'd0' })).toMatchObject({ status: 'expired' })
      expect(await under.store.findRequirement({ id: 'd1' })).toMatchObject({ status: 'open' })
      expect(await under.store.listRequirements({ limit: 99, status: 'open' })).toHaveLength(maxOpenRequirements + 1)
    }),
  )
  test(
    'what is long over is forgotten when something new is required',
    withStore(open, async under => {
      await requirement(under, 'old')
      under.advance(32 * 24 * hourMs)
      expect(await under.store.findRequirement({ id: 'old' })).toMatchObject({ status: 'expired' })
      await requirement(under, 'new')
      expect(await under.store.findRequirement({ id: 'old' })).toBeUndefined()
    }),
  )
}

function describeDecisions(open: OpenStore): void {
  test(
    'resolveRequirement() uses a requirement up and queues a turn of the same sender, in the same thread, by the same way',
    withStore(open, async under => {
      const { store } = under
      const asked = await requirement(under, 'd1', fromAda(inThread('talk', { target: { inbox: 'a' } })))
      const resolved = await store.resolveRequirement(sketchDecision('d1'), 'c2')
      expect(resolved).toMatchObject({
        outcome: 'resolved',
        requirement: { status: 'granted', resolvedAt: under.now() },
      })
      const turn = await leaseOnlyTurn(store)
      expect(turn).toMatchObject({
        agent: 'echo',
        via: 'a2a',
        thread: asked.thread,
        target: { inbox: 'a' },
        correlationId: 'c2',
        flags: ['policy_resolution'],
        content: {
          sender: asked.content.sender,
          recipient: asked.content.recipient,
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
      const history = await store.readHistory({ thread: turn.thread, before: turn.message, head: 9, tail: 9 })
      expect(history.map(({ nativeId }) => nativeId)).toEqual(['asked d1', 'answer to asked d1'])
      await store.commit(turn, sketchAnswer(turn, 'thank you', ['inbox a']))
      expect((await leaseDeliveries(store)).map(({ to }) => to)).toEqual(['inbox a'])
    }),
  )
  test(
    'the decision of an agent, or of a list, is not taken for a person’s word',
    withStore(open, async under => {
      const flags = ['from_agent', 'by_list', 'bulk']
      await requirement(under, 'd1', fromAda(inThread('talk', { flags })))
      await under.store.resolveRequirement(sketchDecision('d1'), 'c2')
      const turn = await leaseOnlyTurn(under.store)
      expect(turn.flags).toEqual(['policy_resolution', 'from_agent', 'by_list'])
    }),
  )
  test(
    'of many decisions at once exactly one counts (MN-7.2)',
    withStore(open, async under => {
      const { store } = under
      await requirement(under, 'd1')
      const outcomes = ['granted', 'declined', 'granted', 'declined'] as const
      const resolved = await Promise.all(
        outcomes.map(outcome => store.resolveRequirement(sketchDecision('d1', { outcome }), 'c')),
      )
      expect(resolved.filter(({ outcome }) => outcome === 'resolved')).toHaveLength(1)
      expect(resolved.flatMap(each => (each.outcome === 'refused' ? each.reason : []))).toEqual([
        'used',
        'used',
        'used',
      ])
      expect(await leaseTurns(store)).toHaveLength(1)
    }),
  )
  test(
    'a decision of an unknown, expired or used requirement, or of another kind, is refused and changes nothing',
    withStore(open, async under => {
      const { store } = under
      await requirement(under, 'd1')
      const reasonOf = async (decision: RequirementDecision) => {
        const resolved = await store.resolveRequirement(decision, 'c')
        return resolved.outcome === 'refused' ? resolved.reason : resolved.outcome
      }
      expect(await reasonOf(sketchDecision('other'))).toBe('unknown')
      expect(await reasonOf(sketchDecision('d1', { kind: 'payment_required' }))).toBe('kind')
      under.advance(hourMs)
      expect(await reasonOf(sketchDecision('d1'))).toBe('expired')
      await requirement(under, 'd2')
      expect(await reasonOf(sketchDecision('d2', { outcome: 'declined' }))).toBe('resolved')
      expect(await reasonOf(sketchDecision('d2'))).toBe('used')
      expect(await leaseTurns(store)).toHaveLength(1)
    }),
  )
  test(
    'a receipt pays one requirement and no second one',
    withStore(open, async under => {
      const { store } = under
      const receipt = { key: 'pay.test 1', provider: 'pay.test', reference: '1' }
      await requirement(under, 'd1')
      await requirement(under, 'd2')
      expect(await store.resolveRequirement(sketchDecision('d1', { receipt }), 'c')).toMatchObject({
        outcome: 'resolved',
        requirement: { receipt: 'pay.test 1' },
      })
      const again = await store.resolveRequirement(sketchDecision('d2', { receipt }), 'c')
      expect(again).toMatchObject({ outcome: 'refused', reason: 'receipt_used' })
    }),
  )
  test('a decision is there after a crash, with the turn that follows from it', async () => {
    const under = await open()
    await requirement(under, 'd1')
    await under.store.resolveRequirement(sketchDecision('d1'), 'c')
    const reopened = await under.reopen?.()
    const store = reopened ?? under.store
    expect(await store.findRequirement({ id: 'd1' })).toMatchObject({ status: 'granted' })
    expect((await leaseOnlyTurn(store)).content.policy_resolution).toMatchObject({ requirement: 'd1' })
    await reopened?.close()
    await under.store.close()
  })
}

function describeBroughtDecisions(open: OpenStore): void {
  const inTask = (sketch: IntakeSketch = {}) => fromAda({ ...ofTask(adasTask), ...sketch })
  const refusal = (description: string) => ({
    code: 'forbidden',
    message: `Cannot take policy_resolution: in_reply_to_state ${description}`,
    violations: [{ field: 'message.metadata.mentionable.policy_resolution.in_reply_to_state', description }],
  })
  test(
    'a message that decides a requirement uses it up with its admission; brought again it is a duplicate',
    withStore(open, async under => {
      const { store } = under
      await requirement(under, 'd1', inTask())
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
  const bob = { ...ada.message?.sender, address: '@bob@peer.test' }
  const bobs = { identities: ada.message?.sender?.identities?.map(known => ({ ...known, subject: 'bob' })) }
  test.each<[string, IntakeSketch, string]>([
    [
      'by somebody else',
      { ...ofTask(adasTask), message: { ...ofTask(adasTask).message, sender: { ...bob, ...bobs } as never } },
      'is not known',
    ],
    ['by nobody who is known', ofTask(adasTask), 'is not known'],
    ['for another agent', inTask({ agent: 'help' }), 'is not known'],
    ['in another context', fromAda(ofTask({ owner: 'ada', id: 'task 2' }, 'other')), 'belongs to another conversation'],
    [
      'of another kind',
      inTask({ resolution: sketchDecision('d1', { kind: 'payment_required' }) }),
      'is of another kind',
    ],
    ['of nothing that was required', inTask({ resolution: sketchDecision('d9') }), 'is not known'],
  ])('a decision %s is refused; the message is not stored, and the requirement stays open', (_, sketch, description) =>
    withStore(open, async under => {
      const { store } = under
      await requirement(under, 'd1', inTask())
      const intake = sketchIntake('no', { resolution: sketchDecision('d1'), ...sketch })
      await expect(store.admit(intake, 'c')).rejects.toMatchObject(refusal(description))
      expect(await store.findMessage('no')).toBeUndefined()
      expect(await store.findRequirement({ id: 'd1' })).toMatchObject({ status: 'open' })
      expect(await store.findTask(adasTask)).toMatchObject({ state: 'input_required' })
      expect(await leaseTurns(store)).toEqual([])
    })(),
  )
  test(
    'a decision in another task of the same context is refused, one that opens a task there is not',
    withStore(open, async under => {
      const { store } = under
      await requirement(under, 'd1', inTask())
      const other = fromAda(ofTask({ owner: 'ada', id: 'task 2' }))
      await store.admit(sketchIntake('m2', other), 'c')
      await store.commit(await leaseOnlyTurn(store), sayNothing())
      const resolution = sketchDecision('d1')
      const intake = (id: string) => sketchIntake(id, { ...other, resolution })
      await expect(store.admit(intake('no'), 'c')).rejects.toMatchObject(refusal('belongs to another conversation'))
      const third = fromAda(ofTask({ owner: 'ada', id: 'task 3' }))
      await store.admit(sketchIntake('yes', { ...third, resolution }), 'c')
      expect(await store.findRequirement({ id: 'd1' })).toMatchObject({ status: 'granted' })
    }),
  )
}

function describeEnds(open: OpenStore): void {
  test(
    'a decision goes on with the task of its requirement, and with none that has ended',
    withStore(open, async under => {
      const { store } = under
      await requirement(under, 'd1', ofTask(adasTask))
      await store.resolveRequirement(sketchDecision('d1'), 'c')
      expect(await store.findTask(adasTask)).toMatchObject({ state: 'submitted' })
      const turn = await leaseOnlyTurn(store)
      expect(turn.task).toEqual(adasTask)
      const requirements = [sketchRequirement(turn, 'd2', under.now())]
      await store.commit(turn, {
        response: sketchResponse(turn, 'and?', 'auth_required'),
        deliveries: [],
        requirements,
      })
      expect(await store.findTask(adasTask)).toMatchObject({ state: 'auth_required' })
      expect(await store.cancelTask(adasTask)).toBe(true)
      const late = await store.resolveRequirement(sketchDecision('d2'), 'c')
      expect(late).toMatchObject({ outcome: 'refused', reason: 'ended', requirement: { status: 'expired' } })
    }),
  )
  test(
    'a requirement is over when its answer is taken back',
    withStore(open, async under => {
      const { store } = under
      const turn = await requirement(under, 'd1')
      const response = `answer to ${turn.content.id}`
      await store.act([{ kind: 'delete', response, planned: { deliveries: [] } }], 'c')
      expect(await store.findRequirement({ id: 'd1' })).toMatchObject({ status: 'expired' })
      expect(await store.resolveRequirement(sketchDecision('d1'), 'c')).toMatchObject({ reason: 'expired' })
    }),
  )
  test(
    'nothing is required by an answer that was taken back before it was whole',
    withStore(open, async ({ store, now }) => {
      await store.admit(sketchIntake('asked d1'), 'c')
      const turn = await leaseOnlyTurn(store)
      const response = sketchResponse(turn, 'one moment', 'working')
      await store.say(turn, { response, deliveries: [] })
      await store.act([{ kind: 'delete', response: response.id, planned: { deliveries: [] } }], 'c')
      const requirements = [sketchRequirement(turn, 'd1', now())]
      await store.commit(turn, { ...sketchAnswer(turn, 'may I'), isRevision: true, requirements })
      expect(await store.findRequirement({ id: 'd1' })).toBeUndefined()
    }),
  )
  test(
    'a requirement is gone with its message, whether that is taken back or removed',
    withStore(open, async under => {
      const { store } = under
      const authorship = { author: 'ada', object: 'post 1' }
      await requirement(under, 'd1', inThread('talk', { authorship }))
      await store.withdraw('a2a', [{ kind: 'forget', ...authorship }])
      expect(await store.findRequirement({ id: 'd1' })).toBeUndefined()
      await requirement(under, 'd2', ofTask(adasTask))
      await store.admit(sketchIntake('later'), 'c')
      under.advance(10)
      await store.expireTasks({ before: under.now(), limit: 9 })
      expect(await store.findRequirement({ id: 'd2' })).toBeUndefined()
    }),
  )
}
