import type { Agent } from '@postern/pipeline'
import { taskCanceledFlag } from '@postern/pipeline'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { joinTextParts, openA2aGateway } from '../setup/gateway.ts'
import type { TestReceiver } from '../setup/receiver.ts'
import { openReceiver } from '../setup/receiver.ts'

const says = (content: string) => ({ kind: 'text', mime: 'text/plain', content }) as const

const agent: Agent = {
  handle({ kind, parts }) {
    if (kind === 'cancel') return { parts: [says('So be it.')] }
    const asks = joinTextParts(parts) === 'ask'
    return { status: asks ? 'input_required' : 'completed', parts: [says(asks ? 'Which one?' : 'Done.')] }
  },
}

let receiver: TestReceiver
let gateway: A2aTestGateway

beforeAll(async () => {
  receiver = await openReceiver()
  const loopback = { 'hook.test': receiver.port }
  gateway = await openA2aGateway({ agents: { desk: agent }, profiles: { desk: { hearsCancels: true } }, loopback })
})
beforeEach(() => {
  receiver.received.length = 0
  gateway.heard.length = 0
})
afterAll(async () => {
  await gateway.close()
  await receiver.close()
})

interface Asked {
  readonly id: string
  readonly contextId: string
  readonly status: { readonly message: { readonly messageId: string } }
}

async function ask(configuration: object = {}): Promise<Asked> {
  return (await gateway.say('ask', {}, { configuration })).body.result.task
}

const heardCancels = () => gateway.heard.filter(({ kind }) => kind === 'cancel')

/** Waits until the agent has answered the message that tells it of the canceled task. */
async function findAnswered(task: string) {
  const id = `urn:postern:cancel:${task}`
  await expect.poll(async () => (await gateway.store.findMessage(id))?.state).toBe('answered')
  const record = await gateway.store.findMessage(id)
  if (!record) throw new Error('the agent has heard of no canceled task')
  return record
}

describe('an agent that receives cancels', () => {
  test('hears which of its questions nobody answers any more', async () => {
    const { id, contextId, status } = await ask()
    const canceled = (await gateway.rpc('CancelTask', { id })).body.result
    expect(canceled.status.state).toBe('TASK_STATE_CANCELED')
    const record = await findAnswered(id)
    expect(record.message).toMatchObject({ in_reply_to: status.message.messageId, thread_source: contextId })
    expect(record).toMatchObject({ flags: [taskCanceledFlag], deliveries: [] })
    const { history, artifacts, ...after } = (await gateway.rpc('GetTask', { id })).body.result
    expect(after).toEqual({ id, contextId, status: canceled.status })
    expect([JSON.stringify(history), artifacts]).toEqual([expect.not.stringContaining('So be it'), undefined])
  })

  test('hears it of clients of every binding and of 0.3', async () => {
    const { id: rest } = await ask()
    const authorization = `Bearer ${gateway.token}`
    const path = `/a2a/rest/tasks/${rest}:cancel`
    await gateway.request(path, { method: 'POST', headers: { authorization, 'a2a-version': '1.0' } })
    const { id: legacy } = await ask()
    await gateway.rpc('tasks/cancel', { id: legacy }, { headers: { 'a2a-version': '0.3' } })
    await findAnswered(rest)
    await findAnswered(legacy)
    expect(heardCancels().map(({ raw }) => JSON.stringify(raw))).toEqual([
      expect.stringContaining(rest),
      expect.stringContaining(legacy),
    ])
  })

  test('hears nothing of a task that has not asked', async () => {
    const { id } = (await gateway.say('hello')).body.result.task
    expect((await gateway.rpc('CancelTask', { id })).body.error?.message).toContain('the task has ended')
    expect(heardCancels()).toEqual([])
  })

  test('hears the cancel of a large request without what the gateway does not read', async () => {
    const { id } = await ask()
    await gateway.rpc('CancelTask', { id, metadata: { filler: 'x'.repeat(100_000) } })
    expect((await findAnswered(id)).message.raw).toEqual({ id })
  })
})

test('a receiver of notifications hears of the cancel once, and nothing of what the agent says then', async () => {
  const { id } = await ask({ taskPushNotificationConfig: { id: 'mine', url: 'https://hook.test/in' } })
  await expect.poll(() => receiver.received.length).toBe(1)
  await gateway.rpc('CancelTask', { id })
  await gateway.rpc('CancelTask', { id })
  await findAnswered(id)
  await gateway.say('hello')
  await expect.poll(() => receiver.received.length).toBe(2)
  const told = receiver.received.map(({ text }) => JSON.parse(text).task.status.state)
  expect(told).toEqual(['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_CANCELED'])
})

test('a replay reads the cancel as it came', async () => {
  const { id } = await ask()
  await gateway.rpc('CancelTask', { id })
  const { number, message, proofs } = await findAnswered(id)
  const { arrival = null, raw = new Uint8Array(), target = null } = (await gateway.store.findArrival(number)) ?? {}
  const { store } = gateway
  const system = { ...gateway.system, now: () => Date.parse(message.received_at) }
  const read = await gateway.channel.diagnostics?.replay?.({ agent: 'desk', arrival, raw, target }, { system, store })
  const { thread_id: _, raw: _raw, ...said } = message
  expect(read?.message).toEqual(said)
  expect(read?.proofs).toEqual(proofs)
})
