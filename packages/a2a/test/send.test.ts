import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestHouse } from './house.ts'
import { openTestHouse } from './house.ts'

let house: TestHouse

beforeAll(async () => {
  house = await openTestHouse()
})
afterAll(() => house.close())

test('SendMessage waits for the agent and answers with the completed task', async () => {
  const { status, body } = await house.say('hello')
  expect(status).toBe(200)
  const { task } = body.result
  expect(task).toMatchObject({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    contextId: task.id,
    status: { state: 'TASK_STATE_COMPLETED', timestamp: expect.stringMatching(/Z$/) },
    artifacts: [{ parts: [{ text: 'heard: hello', mediaType: 'text/plain' }] }],
  })
  expect(task.status.message).toMatchObject({ role: 'ROLE_AGENT', taskId: task.id, contextId: task.id })
  expect(task.history).toBeUndefined()
})
