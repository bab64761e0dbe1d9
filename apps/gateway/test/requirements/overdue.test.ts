import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import type { OperatorGateway, WaitingRequirement } from '../setup/operator-gateway.ts'
import {
  describeShop,
  eve,
  evesToken,
  newName,
  openChat,
  openOperatorGateway,
  outcomeOf,
  runChat,
  tillAgents,
} from '../setup/operator-gateway.ts'
import { askShop, callShop } from '../setup/requirement-steps.ts'
import { annsToken } from '../setup/swarm-gateway.ts'

// These tests cover requirements that no operator decides in time. The person is informed where they asked, the requirements are closed
// everywhere, and no tool has run.

let setup: OperatorGateway
const seconds = (count: number) => ({ requirements: { expires_after_hours: count / 3_600 } })

beforeAll(async () => {
  setup = await openOperatorGateway()
  await setup.swarm.gateway.restart(seconds(5))
})
afterAll(() => setup.close())
beforeEach(() => void setup.readNewTillLines())

const late = 'Nobody allowed it in time.'
const gateway = () => setup.swarm.gateway

async function listOpen(): Promise<readonly WaitingRequirement[]> {
  const path = '/requirements?state=open&approver=operator'
  return (await setup.swarm.requestOperator<{ items: readonly WaitingRequirement[] }>(path)).items
}

test.each(tillAgents)(
  'a fediverse person who asked %s learns once in the thread that time is over, and the wait closes for operators',
  async agent => {
    const { objectId, requirement } = await setup.askForRefund(agent)
    await eventually(async () => setup.answersTo(objectId).some(answer => answer.includes(late)))
    expect(await listOpen()).toEqual([])
    expect(await setup.swarm.requestOperator<WaitingRequirement>(`/requirements/${requirement.id}`)).toMatchObject({
      state: 'expired',
      resolver: { method: 'timeout' },
      resolved_at: expect.stringMatching(/Z$/),
    })
    expect(await setup.readAction(agent)).toMatchObject({ status: 'expired', resolution_result: null })
    const word = await setup.decide(requirement.id, { outcome: 'granted' })
    expect([word.status, word.body.detail]).toEqual([403, 'Cannot decide: This has expired.'])
    const chat = openChat(`${gateway().url()}/api/v1/operator/runs`, evesToken, `approval:${requirement.id}`)
    const events = await runChat(chat, [
      { interruptId: requirement.id, status: 'resolved', payload: { approved: true } },
    ])
    expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'not_decided' })
    await gateway().restart()
    await eventually(async () => (await gateway().deliveries()).every(({ state }) => state === 'sent'))
    expect(setup.answersTo(objectId).filter(answer => answer.includes(late))).toHaveLength(1)
    expect(setup.readNewTillLines()).toEqual([])
  },
)

// Each of these tests asks for something else, and they wait concurrently.
test.concurrent('a person who asked by mail learns by mail that time is over', async () => {
  const { mail } = gateway().simulation
  const receipt = await mail.deliver({ from: eve, to: 'shop@agents.test', text: 'My money back, please' })
  await mail.awaitReply(receipt.mail.messageId, 30_000)
  const overdueMail = await eventually(async () => mail.received.find(({ text }) => text?.includes(late)))
  expect(overdueMail.envelope.to).toEqual([eve])
})

test.concurrent('the task of an A2A caller ends when time is over', async () => {
  const response = await askShop(gateway(), 'My money, please')
  expect(response.task?.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
  const task = await eventually(async () => {
    const task = (await callShop(gateway(), 'GetTask', { id: response.task?.id })).task
    return task?.status.state === 'TASK_STATE_COMPLETED' && task
  })
  expect(JSON.stringify(task)).toContain(late)
})

test.concurrent.each(tillAgents)(
  'a chat interrupt of %s names its deadline, and the next run then reports its result',
  async agent => {
    const chat = openChat(`${gateway().url()}/api/v1/agents/${agent}/runs`, annsToken)
    chat.addMessage({ id: newName('msg'), role: 'user', content: 'My money, please' })
    const { type, interrupts: [interrupt] = [] } = outcomeOf(await runChat(chat))
    expect([type, interrupt?.reason]).toEqual(['interrupt', 'postern:operator'])
    const id = String(interrupt?.id)
    await eventually(async () => (await listOpen()).length === 0)
    expect(Date.parse(String(interrupt?.expiresAt))).toBeLessThanOrEqual(Date.now())
    // AG-UI: an expired interrupt is cancelled, not resolved.
    const events = await runChat(chat, [{ interruptId: id, status: 'cancelled' }])
    expect(outcomeOf(events).type).toBe('success')
    expect(String(chat.messages.at(-1)?.content)).toContain(late)
    expect(await setup.swarm.requestOperator<WaitingRequirement>(`/requirements/${id}`)).toMatchObject({
      resolver: { method: 'timeout' },
    })
  },
)

test('a gateway that was off at a deadline reports it after its start', async () => {
  await gateway().restart(seconds(8))
  const { objectId, requirement } = await setup.askForRefund('shop')
  await gateway().gateway().stop()
  await eventually(async () => Date.now() > Date.parse(requirement.expires_at))
  expect(setup.answersTo(objectId).some(answer => answer.includes(late))).toBe(false)
  await gateway().restart(seconds(5))
  await eventually(async () => setup.answersTo(objectId).some(answer => answer.includes(late)))
})

test('a sender who lost access learns nothing, and nothing waits', async () => {
  await gateway().restart(seconds(8))
  const { objectId, requirement } = await setup.askForRefund('shop')
  const countBefore = setup.answersTo(objectId).length
  const deny = [{ method: 'urn:mentionable:auth:ap-http-signature:v0.1' }]
  await gateway().restart({
    ...seconds(5),
    agents: { shop: { ...describeShop(setup), deny } },
    default_agent: 'shop',
  })
  await eventually(
    async () => (await setup.swarm.requestOperator<WaitingRequirement>(`/requirements/${requirement.id}`)).resolver,
  )
  expect(await listOpen()).toEqual([])
  expect(JSON.stringify(await gateway().messages())).not.toContain(requirement.id)
  expect(setup.answersTo(objectId)).toHaveLength(countBefore)
})
