import { expect, test } from 'vitest'
import { describeAgentError } from './agent-error.ts'

test('describeAgentError() names the first line of the stack outside this program', () => {
  const ownFrame = `    at toPartial (file://${import.meta.dirname}/turn-trace.ts:115:3)`
  const error = Object.assign(new Error('x'), {
    stack: `Error: x\n${ownFrame}\n    at handle (file:///srv/agents/desk.ts:7:3)`,
  })
  expect(describeAgentError(error)).toMatchObject({ file: '/srv/agents/desk.ts', line: 7 })
  expect(describeAgentError(Object.assign(new Error('x'), { stack: `Error: x\n${ownFrame}` })).file).toBeUndefined()
})

test.each([
  ['Incorrect API key provided: sk-proj-abcdefghijklmnop', 'Incorrect API key provided: [hidden]'],
  ['fetch https://ann:hunter22@host.test/x failed', 'fetch https://[hidden]@host.test/x failed'],
  ['GET /v1?api_key=abcdef123456&page=2', 'GET /v1?api_key=[hidden]&page=2'],
  ['{"password":"hunter22","user":"ann"}', '{"password":"[hidden]","user":"ann"}'],
  ['token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl expired', 'token [hidden] expired'],
  ['Cannot read properties of undefined', 'Cannot read properties of undefined'],
])('describeAgentError() removes secrets from "%s"', (message, maskedMessage) => {
  const agentError = describeAgentError(new Error(message))
  expect(agentError.message).toBe(maskedMessage)
  expect(agentError.stack).not.toContain('hunter22')
})

test('describeAgentError() takes linear time for any error', () => {
  const startUsage = process.threadCpuUsage()
  describeAgentError(new Error('token='.repeat(1_000_000)))
  expect(process.threadCpuUsage(startUsage).user).toBeLessThan(2_000_000)
})
