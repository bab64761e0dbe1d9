import { expect, test } from 'vitest'
import { findLeak, inspectAnswer } from './answers.ts'
import { openA2aGateway } from './gateway.ts'

/** Every answer in the tests of this package passes `inspectAnswer`. This test shows that it finds the forbidden patterns. */
test.each([
  ['HTML', '<!doctype html><html>'],
  ['a stack trace', 'Error: x at handle (file.ts)'],
  ['a stack trace', 'routes.ts:12'],
  ['a path', '/home/agent/x'],
  ['inner text', 'Cannot read TypeError'],
  ['a secret', 'db password'],
])('findLeak() finds %s', (leakName, text) => {
  expect(findLeak(text)).toBe(leakName)
  expect(() => inspectAnswer(500, new Headers(), JSON.stringify({ text }))).toThrow(leakName)
})

test('the response to an internal error says so without details of the error', async () => {
  const gateway = await openA2aGateway({ runsWorker: false })
  gateway.store.findTask = async () => {
    throw new Error('db password is hunter2')
  }
  const id = '00000000-0000-7000-8000-000000000000'
  const { status, body } = await gateway.rpc('GetTask', { id })
  expect(status).toBe(500)
  expect(body).toMatchObject({
    id: 1,
    error: { code: -32603, message: 'Internal error', data: [{ reason: 'INTERNAL' }] },
  })
  expect(
    JSON.stringify(gateway.system.logged.map(({ fields }) => String((fields as { err?: unknown }).err))),
  ).toContain('hunter2')
  await gateway.close()
})
