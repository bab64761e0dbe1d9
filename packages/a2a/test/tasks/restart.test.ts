import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Agent } from '@postern/pipeline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openA2aGateway } from '../setup/gateway.ts'
import { openReceiver } from '../setup/receiver.ts'
import { openStream } from '../setup/sse.ts'

let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'a2a-restart-'))
})
afterAll(() => rm(directory, { recursive: true }))

const agent: Agent = {
  async *handle() {
    yield { kind: 'text', mime: 'text/plain', content: 'after ' }
    yield { kind: 'text', mime: 'text/plain', content: 'the restart' }
  },
}

test('get, list, subscribe and notifications continue from the store after a restart (A2A-S07)', async () => {
  const receiver = await openReceiver()
  const path = join(directory, 'desk.sqlite')
  const options = { agents: { desk: agent }, path, loopback: { 'hook.test': receiver.port } }
  const before = await openA2aGateway({ ...options, runsWorker: false })
  const taskPushNotificationConfig = { id: 'c', url: 'https://hook.test/' }
  const firstAnswer = await before.sendText(
    'hello',
    {},
    { configuration: { returnImmediately: true, taskPushNotificationConfig } },
  )
  const { id } = firstAnswer.body.result.task
  await before.close()

  // No worker runs yet, so the present tasks were stored before.
  const idle = await openA2aGateway({ ...options, runsWorker: false })
  expect((await idle.rpc('GetTask', { id })).body.result.status.state).toBe('TASK_STATE_SUBMITTED')
  expect((await idle.rpc('ListTasks', {})).body.result.tasks).toMatchObject([{ id }])
  const cut = await openStream(idle, 'SubscribeToTask', { id })
  expect((await cut.next())?.data.task.id).toBe(id)
  await idle.close()
  expect(await cut.events()).toEqual([])

  const after = await openA2aGateway(options)
  const stream = await openStream(after, 'SubscribeToTask', { id }).catch(() => undefined)
  const events = (await stream?.events()) ?? []
  await expect.poll(() => receiver.pushes.length).toBe(1)
  const { body } = await after.rpc('GetTask', { id })
  expect(body.result.artifacts[0].parts).toEqual([{ text: 'after the restart', mediaType: 'text/plain' }])
  expect(JSON.parse(receiver.pushes[0]?.text ?? '').task).toMatchObject({ id, artifacts: body.result.artifacts })
  // The task may have ended before the client could subscribe, and then the subscription was rejected.
  if (events.length > 1) expect(events.at(-1).statusUpdate.status.state).toBe('TASK_STATE_COMPLETED')
  await after.close()
  await receiver.close()
})
