import type { Agent } from '@postern/pipeline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { joinTextParts, openA2aGateway } from '../setup/gateway.ts'
import { openStream } from '../setup/sse.ts'

// An agent may request credentials within a task (A2A §7.6). They arrive by another channel, and the same task continues.

const explanation = 'Log in at https://login.test/start, then go on here.'

const guardedAgent: Agent = {
  async handle({ parts }, { state }) {
    const text = joinTextParts(parts)
    if (text === 'login please') state.set('asked')
    return (await state.get()) === 'asked' && text !== 'login please'
      ? { parts: [{ kind: 'text', mime: 'text/plain', content: `welcome, ${text}` }] }
      : { status: 'auth_required', parts: [{ kind: 'text', mime: 'text/plain', content: explanation }] }
  },
}

let gateway: A2aTestGateway

beforeAll(async () => {
  gateway = await openA2aGateway({ agents: { store: guardedAgent } })
})
afterAll(() => gateway.close())

test('an agent that needs credentials says so in a task: AUTH_REQUIRED, and how to give them (AUTH-INTASK-001, -002, -003)', async () => {
  const { task } = (await gateway.sendText('login please')).body.result
  expect(task.status.state).toBe('TASK_STATE_AUTH_REQUIRED')
  expect(task.status.message).toMatchObject({ role: 'ROLE_AGENT', taskId: task.id, parts: [{ text: explanation }] })
  expect(task.artifacts).toBeUndefined()
  const { body } = await gateway.rpc('GetTask', { id: task.id })
  expect(body.result.status.state).toBe('TASK_STATE_AUTH_REQUIRED')
  const listAnswer = await gateway.rpc('ListTasks', { status: 'TASK_STATE_AUTH_REQUIRED' })
  expect(listAnswer.body.result.tasks.map(({ id }: { id: string }) => id)).toContain(task.id)
})

test('the task accepts the next message after the credentials came outside of it (AUTH-INTASK-004, -006)', async () => {
  const { task } = (await gateway.sendText('login please')).body.result
  const { task: after } = (await gateway.sendText('it is me', { taskId: task.id })).body.result
  expect(after.id).toBe(task.id)
  expect(after).toMatchObject({
    status: { state: 'TASK_STATE_COMPLETED' },
    artifacts: [{ parts: [{ text: 'welcome, it is me' }] }],
  })
})

test('a watcher of the task still sees the result, while the stream of the message itself ends (AUTH-INTASK-005)', async () => {
  const message = { messageId: 'watched', role: 'ROLE_USER', parts: [{ text: 'login please' }] }
  const events = await (await openStream(gateway, 'SendStreamingMessage', { message })).events()
  expect(events.at(-1).statusUpdate.status.state).toBe('TASK_STATE_AUTH_REQUIRED')
  const { id } = events[0].task
  const subscription = await openStream(gateway, 'SubscribeToTask', { id })
  expect((await subscription.next())?.data.task.status.state).toBe('TASK_STATE_AUTH_REQUIRED')
  await gateway.sendText('me again', { taskId: id })
  expect((await subscription.events()).at(-1).statusUpdate.status.state).toBe('TASK_STATE_COMPLETED')
})

test('a task that waits for credentials is open, and its caller can cancel it', async () => {
  const { task } = (await gateway.sendText('login please')).body.result
  const { body } = await gateway.rpc('CancelTask', { id: task.id })
  expect(body.result.status.state).toBe('TASK_STATE_CANCELED')
})

test('a client of 0.3 sees the state auth-required', async () => {
  const message = { kind: 'message', messageId: 'old', role: 'user', parts: [{ kind: 'text', text: 'login please' }] }
  const { body } = await gateway.rpc('message/send', { message }, { headers: { 'a2a-version': '0.3' } })
  expect(body.result).toMatchObject({ kind: 'task', status: { state: 'auth-required' } })
})
