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
  receiver.pushes.length = 0
  gateway.receivedMessages.length = 0
})
afterAll(async () => {
  await gateway.close()
  await receiver.close()
})

interface OpenQuestion {
  readonly id: string
  readonly contextId: string
  readonly status: { readonly message: { readonly messageId: string } }
}

async function openQuestion(configuration: object = {}): Promise<OpenQuestion> {
  return (await gateway.sendText('ask', {}, { configuration })).body.result.task
}

const heardCancels = () => gateway.receivedMessages.filter(({ kind }) => kind === 'cancel')

/** Waits until the agent has answered the message that tells it of the canceled task. */
async function findAnswered(task: string) {
  const id = `urn:postern:cancel:${task}`
  await expect.poll(async () => (await gateway.store.findMessage(id))?.state).toBe('answered')
  const record = await gateway.store.findMessage(id)
  if (!record) throw new Error('the agent has heard of no canceled task')
  return record
}

describe('an agent that receives cancels', () => {
  test('learns which of its questions nobody will answer', async () => {
    const { id, contextId, status } = await openQuestion()
    const canceledTask = (await gateway.rpc('CancelTask', { id })).body.result
    expect(canceledTask.status.state).toBe('TASK_STATE_CANCELED')
    const record = await findAnswered(id)
    expect(record.message).toMatchObject({ in_reply_to: status.message.messageId, thread_source: contextId })
    expect(record).toMatchObject({ flags: [taskCanceledFlag], deliveries: [] })
    const { history, artifacts, ...after } = (await gateway.rpc('GetTask', { id })).body.result
    expect(after).toEqual({ id, contextId, status: canceledTask.status })
    expect([JSON.stringify(history), artifacts]).toEqual([expect.not.stringContaining('So be it'), undefined])
  })

  test('learns it from clients of every binding and of 0.3', async () => {
    const { id: restTaskId } = await openQuestion()
    const authorization = `Bearer ${gateway.token}`
    const path = `/a2a/rest/tasks/${restTaskId}:cancel`
    await gateway.request(path, { method: 'POST', headers: { authorization, 'a2a-version': '1.0' } })
    const { id: legacy } = await openQuestion()
    await gateway.rpc('tasks/cancel', { id: legacy }, { headers: { 'a2a-version': '0.3' } })
    await findAnswered(restTaskId)
    await findAnswered(legacy)
    expect(heardCancels().map(({ raw }) => JSON.stringify(raw))).toEqual([
      expect.stringContaining(restTaskId),
      expect.stringContaining(legacy),
    ])
  })

  test('learns nothing of a task that has not asked', async () => {
    const { id } = (await gateway.sendText('hello')).body.result.task
    expect((await gateway.rpc('CancelTask', { id })).body.error?.message).toContain('the task has ended')
    expect(heardCancels()).toEqual([])
  })

  test('gets the cancel of a large request without members that the gateway does not read', async () => {
    const { id } = await openQuestion()
    await gateway.rpc('CancelTask', { id, metadata: { filler: 'x'.repeat(100_000) } })
    expect((await findAnswered(id)).message.raw).toEqual({ id })
  })
})

test('a receiver of notifications learns of the cancel once, and gets no later text of the agent', async () => {
  const { id } = await openQuestion({ taskPushNotificationConfig: { id: 'mine', url: 'https://hook.test/in' } })
  await expect.poll(() => receiver.pushes.length).toBe(1)
  await gateway.rpc('CancelTask', { id })
  await gateway.rpc('CancelTask', { id })
  await findAnswered(id)
  await gateway.sendText('hello')
  await expect.poll(() => receiver.pushes.length).toBe(2)
  const pushedStates = receiver.pushes.map(({ text }) => JSON.parse(text).task.status.state)
  expect(pushedStates).toEqual(['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_CANCELED'])
})

test('a replay repeats the cancel as it came', async () => {
  const { id } = await openQuestion()
  await gateway.rpc('CancelTask', { id })
  const { number, message, proofs } = await findAnswered(id)
  const { arrival = null, raw = new Uint8Array(), target = null } = (await gateway.store.findArrival(number)) ?? {}
  const { store } = gateway
  const system = { ...gateway.system, now: () => Date.parse(message.received_at) }
  const read = await gateway.channel.diagnostics?.replay?.({ agent: 'desk', arrival, raw, target }, { system, store })
  const { thread_id: _, raw: _raw, ...storedMessage } = message
  expect(read?.message).toEqual(storedMessage)
  expect(read?.proofs).toEqual(proofs)
})
