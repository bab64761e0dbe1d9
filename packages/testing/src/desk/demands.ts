import type { Answer, DemandDecision, Desk, PlannedDemand, Turn } from '@postern/core'
import { maxOpenDemands, subjectOf } from '@postern/core'
import { describe, expect, test } from 'vitest'
import { digestOf, from } from './demand-sketch.ts'
import { mine, ofTask } from './task-sketches.ts'
import type { IntakeSketch, OpenDesk } from './under-test.ts'
import {
  inThread,
  leaseDeliveries,
  leaseOnlyTurn,
  leaseTurns,
  sayNothing,
  sketchAnswer,
  sketchIntake,
  sketchResponse,
  withDesk,
} from './under-test.ts'

export function demandContract(open: OpenDesk): void {
  describe('demands', () => {
    describeLife(open)
    describeDecisions(open)
    describeBroughtDecisions(open)
    describeEnds(open)
  })
}

const hourMs = 3_600_000

/** The demand called `id`, of whoever wrote the message. */
function sketchDemand(turn: Turn, id: string, now: number): PlannedDemand {
  const policy = { kind: 'consent_required', message: `May I ${id}?`, data: { 'test.id': id } }
  const subject = subjectOf(turn.content.sender)
  return { id, digest: digestOf(id), kind: 'consent_required', policy, subject, expiresAt: now + hourMs }
}

function sketchDecision(id: string, rest: Partial<DemandDecision> = {}): DemandDecision {
  return { digest: digestOf(id), kind: 'consent_required', outcome: 'granted', resolver: { method: 'link' }, ...rest }
}

const ada: IntakeSketch = { message: from('ada') }

const fromAda = (sketch: IntakeSketch): IntakeSketch => ({
  ...sketch,
  message: { ...ada.message, ...sketch.message },
})

/** A message in the thread, answered with a demand of this name. */
async function demand(
  { desk, now }: { readonly desk: Desk; now(): number },
  id: string,
  sketch: IntakeSketch = inThread('talk'),
): Promise<Turn> {
  await desk.admit(sketchIntake(`asked ${id}`, sketch), 'c')
  const turn = await leaseOnlyTurn(desk)
  const response = sketchResponse(turn, `may I ${id}`, 'input_required')
  await desk.commit(turn, { response, deliveries: [], demands: [sketchDemand(turn, id, now())] })
  return turn
}

function describeLife(open: OpenDesk): void {
  test(
    'a demand is there once its answer is, and not before',
    withDesk(open, async ({ desk, now, advance }) => {
      await desk.admit(sketchIntake('m1', fromAda(inThread('talk'))), 'c')
      const turn = await leaseOnlyTurn(desk)
      const demands = [sketchDemand(turn, 'd1', now())]
      const answer: Answer = { ...sketchAnswer(turn, 'May I?'), demands }
      expect(await desk.findDemand({ id: 'd1' })).toBeUndefined()
      await desk.commit(turn, answer)
      const found = await desk.findDemand({ digest: digestOf('d1') })
      expect(found).toMatchObject({
        ...demands[0],
        agent: 'echo',
        via: 'a2a',
        message: turn.message,
        thread: turn.thread,
        status: 'open',
        issuedAt: now(),
        address: '@ada@peer.test',
      })
      expect(await desk.findDemand({ id: 'd1' })).toEqual(found)
      await expect(desk.commit(turn, { ...answer, demands: [sketchDemand(turn, 'd2', now())] })).rejects.toThrow()
      expect(await desk.findDemand({ id: 'd2' })).toBeUndefined()
      advance(hourMs)
      expect(await desk.findDemand({ id: 'd1' })).toMatchObject({ status: 'expired' })
    }),
  )
  test(
    'demands are listed newest first, by page and by status',
    withDesk(open, async under => {
      for (const id of ['d1', 'd2', 'd3']) await demand(under, id)
      await under.desk.resolveDemand(sketchDecision('d2', { outcome: 'declined' }), 'c')
      const idsFor = async (filter: Partial<Parameters<Desk['listDemands']>[0]>) =>
        (await under.desk.listDemands({ limit: 9, ...filter })).map(({ id }) => id)
      expect(await idsFor({})).toEqual(['d3', 'd2', 'd1'])
      expect(await idsFor({ status: 'open' })).toEqual(['d3', 'd1'])
      expect(await idsFor({ status: 'declined' })).toEqual(['d2'])
      const [newest] = await under.desk.listDemands({ limit: 1 })
      expect(await idsFor({ after: newest?.place ?? 0, limit: 1 })).toEqual(['d2'])
      under.advance(hourMs)
      expect(await idsFor({ status: 'expired' })).toEqual(['d3', 'd1'])
    }),
  )
  test(
    'of too many in one thread the oldest expire',
    withDesk(open, async under => {
      for (let count = 0; count <= maxOpenDemands; count += 1) await demand(under, `d${count}`)
      await demand(under, 'elsewhere', inThread('another'))
      expect(await under.desk.findDemand({ id: 'd0' })).toMatchObject({ status: 'expired' })
      expect(await under.desk.findDemand({ id: 'd1' })).toMatchObject({ status: 'open' })
      expect(await under.desk.listDemands({ limit: 99, status: 'open' })).toHaveLength(maxOpenDemands + 1)
    }),
  )
  test(
    'what is long over is forgotten when something new is demanded',
    withDesk(open, async under => {
      await demand(under, 'old')
      under.advance(32 * 24 * hourMs)
      expect(await under.desk.findDemand({ id: 'old' })).toMatchObject({ status: 'expired' })
      await demand(under, 'new')
      expect(await under.desk.findDemand({ id: 'old' })).toBeUndefined()
    }),
  )
}

function describeDecisions(open: OpenDesk): void {
  test(
    'resolveDemand() uses a demand up and queues a turn of the same sender, in the same thread, by the same way',
    withDesk(open, async under => {
      const { desk } = under
      const asked = await demand(under, 'd1', fromAda(inThread('talk', { target: { inbox: 'a' } })))
      const resolved = await desk.resolveDemand(sketchDecision('d1'), 'c2')
      expect(resolved).toMatchObject({ outcome: 'resolved', demand: { status: 'granted', resolvedAt: under.now() } })
      const turn = await leaseOnlyTurn(desk)
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
            in_reply_to_state: digestOf('d1'),
            demand: 'd1',
            kind: 'consent_required',
            outcome: 'granted',
            resolver: { method: 'link' },
            data: { 'test.id': 'd1' },
          },
        },
      })
      const history = await desk.readHistory({ thread: turn.thread, before: turn.message, head: 9, tail: 9 })
      expect(history.map(({ nativeId }) => nativeId)).toEqual(['asked d1', 'answer to asked d1'])
      await desk.commit(turn, sketchAnswer(turn, 'thank you', ['inbox a']))
      expect((await leaseDeliveries(desk)).map(({ to }) => to)).toEqual(['inbox a'])
    }),
  )
  test(
    'the decision of an agent, or of a list, is not taken for a person’s word',
    withDesk(open, async under => {
      const flags = ['from_agent', 'by_list', 'bulk']
      await demand(under, 'd1', fromAda(inThread('talk', { flags })))
      await under.desk.resolveDemand(sketchDecision('d1'), 'c2')
      const turn = await leaseOnlyTurn(under.desk)
      expect(turn.flags).toEqual(['policy_resolution', 'from_agent', 'by_list'])
    }),
  )
  test(
    'of many decisions at once exactly one counts',
    withDesk(open, async under => {
      const { desk } = under
      await demand(under, 'd1')
      const outcomes = ['granted', 'declined', 'granted', 'declined'] as const
      const resolved = await Promise.all(
        outcomes.map(outcome => desk.resolveDemand(sketchDecision('d1', { outcome }), 'c')),
      )
      expect(resolved.filter(({ outcome }) => outcome === 'resolved')).toHaveLength(1)
      expect(resolved.flatMap(each => (each.outcome === 'refused' ? each.reason : []))).toEqual([
        'used',
        'used',
        'used',
      ])
      expect(await leaseTurns(desk)).toHaveLength(1)
    }),
  )
  test(
    'a decision of an unknown, expired or used demand, or of another kind, is refused and changes nothing',
    withDesk(open, async under => {
      const { desk } = under
      await demand(under, 'd1')
      const reasonOf = async (decision: DemandDecision) => {
        const resolved = await desk.resolveDemand(decision, 'c')
        return resolved.outcome === 'refused' ? resolved.reason : resolved.outcome
      }
      expect(await reasonOf(sketchDecision('other'))).toBe('unknown')
      expect(await reasonOf(sketchDecision('d1', { kind: 'payment_required' }))).toBe('kind')
      under.advance(hourMs)
      expect(await reasonOf(sketchDecision('d1'))).toBe('expired')
      await demand(under, 'd2')
      expect(await reasonOf(sketchDecision('d2', { outcome: 'declined' }))).toBe('resolved')
      expect(await reasonOf(sketchDecision('d2'))).toBe('used')
      expect(await leaseTurns(desk)).toHaveLength(1)
    }),
  )
  test(
    'a receipt pays one demand and no second one',
    withDesk(open, async under => {
      const { desk } = under
      const receipt = { key: 'pay.test 1', provider: 'pay.test', reference: '1' }
      await demand(under, 'd1')
      await demand(under, 'd2')
      expect(await desk.resolveDemand(sketchDecision('d1', { receipt }), 'c')).toMatchObject({
        outcome: 'resolved',
        demand: { receipt: 'pay.test 1' },
      })
      const again = await desk.resolveDemand(sketchDecision('d2', { receipt }), 'c')
      expect(again).toMatchObject({ outcome: 'refused', reason: 'receipt_used' })
    }),
  )
  test('a decision is there after a crash, with the turn that follows from it', async () => {
    const under = await open()
    await demand(under, 'd1')
    await under.desk.resolveDemand(sketchDecision('d1'), 'c')
    const reopened = await under.reopen?.()
    const desk = reopened ?? under.desk
    expect(await desk.findDemand({ id: 'd1' })).toMatchObject({ status: 'granted' })
    expect((await leaseOnlyTurn(desk)).content.policy_resolution).toMatchObject({ demand: 'd1' })
    await reopened?.close()
    await under.desk.close()
  })
}

function describeBroughtDecisions(open: OpenDesk): void {
  const inTask = (sketch: IntakeSketch = {}) => fromAda({ ...ofTask(mine), ...sketch })
  const refusal = (description: string) => ({
    code: 'forbidden',
    message: `Cannot take policy_resolution: in_reply_to_state ${description}`,
    violations: [{ field: 'message.metadata.mentionable.policy_resolution.in_reply_to_state', description }],
  })
  test(
    'a message that decides a demand uses it up with its admission; brought again it is a duplicate',
    withDesk(open, async under => {
      const { desk } = under
      await demand(under, 'd1', inTask())
      const intake = sketchIntake('yes', inTask({ resolution: sketchDecision('d1') }))
      const { message } = await desk.admit(intake, 'c')
      expect(await desk.findDemand({ id: 'd1' })).toMatchObject({ status: 'granted' })
      expect(await desk.admit(intake, 'c')).toMatchObject({ outcome: 'duplicate', message })
      expect(await leaseTurns(desk)).toHaveLength(1)
      const replay = sketchIntake('yes again', inTask({ resolution: sketchDecision('d1') }))
      await expect(desk.admit(replay, 'c')).rejects.toMatchObject(refusal('has been used already'))
      expect(await desk.findMessage('yes again')).toBeUndefined()
    }),
  )
  const bob = { ...ada.message?.sender, address: '@bob@peer.test' }
  const bobs = { identities: ada.message?.sender?.identities?.map(known => ({ ...known, subject: 'bob' })) }
  test.each<[string, IntakeSketch, string]>([
    [
      'by somebody else',
      { ...ofTask(mine), message: { ...ofTask(mine).message, sender: { ...bob, ...bobs } as never } },
      'is not known',
    ],
    ['by nobody who is known', ofTask(mine), 'is not known'],
    ['for another agent', inTask({ agent: 'help' }), 'is not known'],
    ['in another context', fromAda(ofTask({ owner: 'ada', id: 'task 2' }, 'other')), 'belongs to another conversation'],
    [
      'of another kind',
      inTask({ resolution: sketchDecision('d1', { kind: 'payment_required' }) }),
      'is of another kind',
    ],
    ['of nothing that was demanded', inTask({ resolution: sketchDecision('d9') }), 'is not known'],
  ])('a decision %s is refused; the message is not stored, and the demand stays open', (_, sketch, description) =>
    withDesk(open, async under => {
      const { desk } = under
      await demand(under, 'd1', inTask())
      const intake = sketchIntake('no', { resolution: sketchDecision('d1'), ...sketch })
      await expect(desk.admit(intake, 'c')).rejects.toMatchObject(refusal(description))
      expect(await desk.findMessage('no')).toBeUndefined()
      expect(await desk.findDemand({ id: 'd1' })).toMatchObject({ status: 'open' })
      expect(await desk.findTask(mine)).toMatchObject({ state: 'input_required' })
      expect(await leaseTurns(desk)).toEqual([])
    })(),
  )
  test(
    'a decision in another task of the same context is refused, one that opens a task there is not',
    withDesk(open, async under => {
      const { desk } = under
      await demand(under, 'd1', inTask())
      const other = fromAda(ofTask({ owner: 'ada', id: 'task 2' }))
      await desk.admit(sketchIntake('m2', other), 'c')
      await desk.commit(await leaseOnlyTurn(desk), sayNothing())
      const resolution = sketchDecision('d1')
      const intake = (id: string) => sketchIntake(id, { ...other, resolution })
      await expect(desk.admit(intake('no'), 'c')).rejects.toMatchObject(refusal('belongs to another conversation'))
      const third = fromAda(ofTask({ owner: 'ada', id: 'task 3' }))
      await desk.admit(sketchIntake('yes', { ...third, resolution }), 'c')
      expect(await desk.findDemand({ id: 'd1' })).toMatchObject({ status: 'granted' })
    }),
  )
}

function describeEnds(open: OpenDesk): void {
  test(
    'a decision goes on with the task of its demand, and with none that has ended',
    withDesk(open, async under => {
      const { desk } = under
      await demand(under, 'd1', ofTask(mine))
      await desk.resolveDemand(sketchDecision('d1'), 'c')
      expect(await desk.findTask(mine)).toMatchObject({ state: 'submitted' })
      const turn = await leaseOnlyTurn(desk)
      expect(turn.task).toEqual(mine)
      const demands = [sketchDemand(turn, 'd2', under.now())]
      await desk.commit(turn, { response: sketchResponse(turn, 'and?', 'auth_required'), deliveries: [], demands })
      expect(await desk.findTask(mine)).toMatchObject({ state: 'auth_required' })
      expect(await desk.cancelTask(mine)).toBe(true)
      const late = await desk.resolveDemand(sketchDecision('d2'), 'c')
      expect(late).toMatchObject({ outcome: 'refused', reason: 'ended', demand: { status: 'expired' } })
    }),
  )
  test(
    'a demand is over when its answer is taken back',
    withDesk(open, async under => {
      const { desk } = under
      const turn = await demand(under, 'd1')
      const response = `answer to ${turn.content.id}`
      await desk.act([{ kind: 'delete', response, planned: { deliveries: [] } }], 'c')
      expect(await desk.findDemand({ id: 'd1' })).toMatchObject({ status: 'expired' })
      expect(await desk.resolveDemand(sketchDecision('d1'), 'c')).toMatchObject({ reason: 'expired' })
    }),
  )
  test(
    'nothing is demanded by an answer that was taken back before it was whole',
    withDesk(open, async ({ desk, now }) => {
      await desk.admit(sketchIntake('asked d1'), 'c')
      const turn = await leaseOnlyTurn(desk)
      const response = sketchResponse(turn, 'one moment', 'working')
      await desk.say(turn, { response, deliveries: [] })
      await desk.act([{ kind: 'delete', response: response.id, planned: { deliveries: [] } }], 'c')
      const demands = [sketchDemand(turn, 'd1', now())]
      await desk.commit(turn, { ...sketchAnswer(turn, 'may I'), isRevision: true, demands })
      expect(await desk.findDemand({ id: 'd1' })).toBeUndefined()
    }),
  )
  test(
    'a demand is gone with its message, whether that is taken back or removed',
    withDesk(open, async under => {
      const { desk } = under
      const authorship = { author: 'ada', object: 'post 1' }
      await demand(under, 'd1', inThread('talk', { authorship }))
      await desk.withdraw('a2a', [{ kind: 'forget', ...authorship }])
      expect(await desk.findDemand({ id: 'd1' })).toBeUndefined()
      await demand(under, 'd2', ofTask(mine))
      await desk.admit(sketchIntake('later'), 'c')
      under.advance(10)
      await desk.expireTasks({ before: under.now(), limit: 9 })
      expect(await desk.findDemand({ id: 'd2' })).toBeUndefined()
    }),
  )
}
