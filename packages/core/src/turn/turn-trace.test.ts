import { expect, test } from 'vitest'
import { createQuietPlatform, turn } from '../../test/memory-store.ts'
import { answerTo } from '../../test/turn-bench.ts'
import type { PartialResponse } from '../message/response.ts'
import { TurnTrace } from './call-agent.ts'
import { describeAgentFault } from './trace/agent-fault.ts'

test('the record keeps an attempt with its times, its outcome and the digest of the input of the agent', async () => {
  let now = 1_000
  const platform = createQuietPlatform({ now: () => now })
  const handle = () => {
    now = 1_250
    return 'hi'
  }
  const answer = await answerTo(handle, { platform })
  expect(answer?.attempt).toEqual({
    attempt: 1,
    leased_at: 1_000,
    called_at: 1_000,
    first_output_at: 1_250,
    ended_at: 1_250,
    outcome: 'answered',
    given: { history: [], digest: expect.stringMatching(/^[\w-]{43}$/) },
  })
})

test('the record keeps the error of an agent with file and line, and none of its secrets', async () => {
  const answer = await answerTo(() => {
    throw new TypeError('401 for Bearer abcdefgh12345678')
  })
  const { outcome, error } = answer?.attempt ?? {}
  expect(outcome).toBe('failed')
  expect(error).toMatchObject({ name: 'TypeError', message: '401 for [hidden]', line: expect.any(Number) })
  expect(error?.file).toMatch(/turn-trace\.test\.ts$/)
})

test('the record keeps calls of tools with their time and how they ended', () => {
  let now = 0
  const trace = new TurnTrace(turn(1), { now: () => now })
  const hear = (chunk: PartialResponse) => trace.heard(chunk)
  const call = (id: string, rest: object = {}) => ({
    kind: 'tool_call' as const,
    id,
    name: `tool ${id}`,
    args: {},
    ...rest,
  })
  hear({ parts: [call('a')] })
  now = 40
  hear({ parts: [call('a', { result: 1 }), call('b')] })
  now = 50
  hear({ parts: [call('b', { error: { message: 'no' } })] })
  hear({ trace: [call('c', { result: 2 })] })
  expect(trace.end('answered', undefined).tools).toEqual([
    { name: 'tool a', ms: 40, ok: true },
    { name: 'tool b', ms: 10, ok: false },
    { name: 'tool c', ok: true },
  ])
})

test('an agent that calls tools without end cannot fill the record', () => {
  const trace = new TurnTrace(turn(1), { now: () => 0 })
  for (let count = 0; count < 1_000; count += 1)
    trace.heard({ parts: [{ kind: 'tool_call', id: `${count}`, name: 'x'.repeat(10_000) }] })
  trace.failed(new Error('y'.repeat(1_000_000)))
  expect(JSON.stringify(trace.end('failed', undefined)).length).toBeLessThan(16_000)
})

test.each([
  ['Incorrect API key provided: sk-proj-abcdefghijklmnop', 'Incorrect API key provided: [hidden]'],
  ['fetch https://ann:hunter22@host.test/x failed', 'fetch https://[hidden]@host.test/x failed'],
  ['GET /v1?api_key=abcdef123456&page=2', 'GET /v1?api_key=[hidden]&page=2'],
  ['{"password":"hunter22","user":"ann"}', '{"password":"[hidden]","user":"ann"}'],
  ['token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl expired', 'token [hidden] expired'],
  ['Cannot read properties of undefined', 'Cannot read properties of undefined'],
])('describeAgentFault() keeps of "%s" what is no secret', (message, kept) => {
  const fault = describeAgentFault(new Error(message))
  expect(fault.message).toBe(kept)
  expect(fault.stack).not.toContain('hunter22')
})

test('describeAgentFault() takes linear time, whatever an error says', () => {
  const began = performance.now()
  describeAgentFault(new Error('token='.repeat(1_000_000)))
  expect(performance.now() - began).toBeLessThan(2_000)
})
