import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { askShop, callShop } from './demand-steps.ts'
import { eventually } from './house.ts'
import type { OperatorHouse, Waiting } from './operator-house.ts'
import {
  describeShop,
  eve,
  evesToken,
  newName,
  openChat,
  openOperatorHouse,
  outcomeOf,
  runChat,
  tillAgents,
} from './operator-house.ts'
import { annsToken } from './swarm-house.ts'

// Waits that no operator decides: whoever asked is told when their time is over, where he asked; they are closed everywhere, and nothing has run.

let house: OperatorHouse
const seconds = (count: number) => ({ demands: { expires_after_hours: count / 3_600 } })

beforeAll(async () => {
  house = await openOperatorHouse()
  await house.swarm.house.restart(seconds(0.8))
})
afterAll(() => house.close())
beforeEach(() => void house.takeRings())

const late = 'Nobody allowed it in time.'
const gateway = () => house.swarm.house

async function listOpen(): Promise<readonly Waiting[]> {
  const path = '/demands?status=open&approver=operator'
  return (await house.swarm.operate<{ demands: readonly Waiting[] }>(path)).demands
}

test.each(tillAgents)(
  'who asked %s on the fediverse is told once, in its thread; the wait is closed for every operator',
  async agent => {
    const { objectId, waiting } = await house.askForRefund(agent)
    await eventually(async () => house.answersTo(objectId).some(answer => answer.includes(late)))
    expect(await listOpen()).toEqual([])
    expect(await house.swarm.operate<Waiting>(`/demands/${waiting.id}`)).toMatchObject({
      status: 'expired',
      resolver: { method: 'timeout' },
      resolved_at: expect.stringMatching(/Z$/),
    })
    expect(await house.readAction(agent)).toMatchObject({ status: 'expired', resolution_result: null })
    const word = await house.decide(waiting.id, { outcome: 'granted' })
    expect([word.status, word.body.detail]).toEqual([403, 'Cannot decide: This has expired.'])
    const chat = openChat(`${gateway().url()}/api/v1/operator/runs`, evesToken, `approval:${waiting.id}`)
    const told = await runChat(chat, [{ interruptId: waiting.id, status: 'resolved', payload: { approved: true } }])
    expect(told.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'not_decided' })
    await gateway().restart()
    await eventually(async () => (await gateway().deliveries()).every(({ state }) => state === 'sent'))
    expect(house.answersTo(objectId).filter(answer => answer.includes(late))).toHaveLength(1)
    expect(house.takeRings()).toEqual([])
  },
)

test('by mail he hears it by mail', async () => {
  const { mail } = gateway().world
  const sent = await mail.deliver({ from: eve, to: 'shop@agents.test', text: 'My money back, please' })
  await mail.awaitReply(sent.mail.messageId, 30_000)
  const letter = await eventually(async () => mail.received.find(({ text }) => text?.includes(late)))
  expect(letter.envelope.to).toEqual([eve])
})

test('the task of a caller over A2A goes on, and is completed', async () => {
  const asked = await askShop(gateway(), 'My money, please')
  expect(asked.task?.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
  const task = await eventually(async () => {
    const found = (await callShop(gateway(), 'GetTask', { id: asked.task?.id })).task
    return found?.status.state === 'TASK_STATE_COMPLETED' && found
  })
  expect(JSON.stringify(task)).toContain(late)
})

test.each(tillAgents)(
  'the interrupt of a chat with %s says until when; the run that leaves it then tells what came of it',
  async agent => {
    const chat = openChat(`${gateway().url()}/api/v1/agents/${agent}/runs`, annsToken)
    chat.addMessage({ id: newName('msg'), role: 'user', content: 'My money, please' })
    const { type, interrupts: [interrupt] = [] } = outcomeOf(await runChat(chat))
    expect([type, interrupt?.reason]).toEqual(['interrupt', 'postern:operator'])
    const id = String(interrupt?.id)
    await eventually(async () => (await listOpen()).length === 0)
    expect(Date.parse(String(interrupt?.expiresAt))).toBeLessThanOrEqual(Date.now())
    // AG-UI: what has expired is cancelled, not resolved.
    const events = await runChat(chat, [{ interruptId: id, status: 'cancelled' }])
    expect(outcomeOf(events).type).toBe('success')
    expect(String(chat.messages.at(-1)?.content)).toContain(late)
    expect(await house.swarm.operate<Waiting>(`/demands/${id}`)).toMatchObject({ resolver: { method: 'timeout' } })
  },
)

test('a gateway that was off when the time was over tells it when it is back', async () => {
  await gateway().restart(seconds(4))
  const { objectId } = await house.askForRefund('shop')
  await gateway().restart(seconds(0.8))
  expect(house.answersTo(objectId).some(answer => answer.includes(late))).toBe(false)
  await eventually(async () => house.answersTo(objectId).some(answer => answer.includes(late)))
})

test('who may not speak to the agent any more is told nothing, and nothing waits', async () => {
  await gateway().restart(seconds(3))
  const { objectId, waiting } = await house.askForRefund('shop')
  const before = house.answersTo(objectId).length
  const deny = [{ method: 'urn:mentionable:auth:ap-http-signature:v0.1' }]
  await gateway().restart({
    ...seconds(0.8),
    agents: { shop: { ...describeShop(house), deny } },
    default_agent: 'shop',
  })
  await eventually(async () => (await house.swarm.operate<Waiting>(`/demands/${waiting.id}`)).resolver)
  expect(await listOpen()).toEqual([])
  expect(JSON.stringify(await gateway().messages())).not.toContain(waiting.id)
  expect(house.answersTo(objectId)).toHaveLength(before)
})
