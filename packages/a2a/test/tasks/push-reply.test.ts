import { noLog } from '@postern/message'
import { createPublisher } from '@postern/pipeline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { openA2aGateway } from '../setup/gateway.ts'
import type { TestReceiver } from '../setup/receiver.ts'
import { openReceiver } from '../setup/receiver.ts'

// An agent continues the conversation of a caller unasked, by a notification of their task.

let receiver: TestReceiver
let gateway: A2aTestGateway

beforeAll(async () => {
  receiver = await openReceiver()
  gateway = await openA2aGateway({ loopback: { 'hook.test': receiver.port } })
})
afterAll(async () => {
  await gateway.close()
  await receiver.close()
})

function reply(thread: string, text: string) {
  const { store, system, channel } = gateway
  const publisher = createPublisher({
    actingAgent: { agent: 'echo', address: '@echo@agents.test' },
    gateway: { store, system, channels: [channel] },
    signal: new AbortController().signal,
    log: noLog,
  })
  return publisher.reply(thread, text)
}

async function startTask(text: string, push?: object) {
  const configuration = push && { taskPushNotificationConfig: push }
  const { task } = (
    await gateway.sendText(text, {}, { path: '/agents/echo/a2a', ...(configuration && { configuration }) })
  ).body.result
  return { task, thread: gateway.receivedMessages.at(-1)?.thread_id ?? '' }
}

test('a caller with notifications gets later messages as the result of their task', async () => {
  const { task, thread } = await startTask('hello', { id: 'mine', url: 'https://hook.test/in' })
  await expect.poll(() => receiver.pushes.length).toBe(1)
  expect(await reply(thread, 'It has come.')).toMatch(/^[0-9a-f]{32}$/)
  await expect.poll(() => receiver.pushes.length).toBe(2)
  const pushedTask = JSON.parse(receiver.pushes[1]?.text ?? '').task
  expect(pushedTask).toMatchObject({
    id: task.id,
    contextId: task.contextId,
    status: { state: 'TASK_STATE_COMPLETED' },
  })
  expect(pushedTask.artifacts[0].parts).toMatchObject([{ text: 'It has come.' }])
})

test('the agent gets a refusal for a caller without notifications', async () => {
  const { task, thread } = await startTask('hello again')
  const replyAnswer = await reply(thread, 'It has come.')
  expect(replyAnswer).toMatchObject({ refused: true, code: 'no_recipient' })
  expect(String(replyAnswer)).toContain(`no push notification for the task ${task.id}`)
})
