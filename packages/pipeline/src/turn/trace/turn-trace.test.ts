import { expect, test, vi } from 'vitest'
import { createQuietSystem, turn } from '../../../test/memory-store.ts'
import { neverAbortedSignal, openTurnBench, runTurnOf } from '../../../test/turn-bench.ts'
import { runTurn } from '../turn.ts'
import { TurnTrace } from './turn-trace.ts'

test('the record has an attempt with its times, its outcome and the digest of the agent’s input', async () => {
  let now = 1_000
  const system = createQuietSystem({ now: () => now })
  const handle = () => {
    now = 1_250
    return 'hi'
  }
  const answer = await runTurnOf(handle, { system })
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

test('the record has an agent’s error with file and line, without secrets', async () => {
  const answer = await runTurnOf(() => {
    const error = new TypeError('401 for Bearer abcdefgh12345678')
    throw Object.assign(error, { stack: `${error}\n    at handle (/srv/agents/desk.ts:7:3)` })
  })
  const { outcome, error } = answer?.attempt ?? {}
  expect(outcome).toBe('failed')
  expect(error).toMatchObject({ name: 'TypeError', message: '401 for [hidden]', line: 7 })
  expect(error?.file).toBe('/srv/agents/desk.ts')
})

test('an agent with endless tool calls cannot fill the record', () => {
  const trace = new TurnTrace(turn(1), { now: () => 0 })
  for (let count = 0; count < 1_000; count += 1)
    trace.recordPiece({ parts: [{ kind: 'tool_call', id: `${count}`, name: 'x'.repeat(10_000) }] })
  trace.recordFailure(new Error('y'.repeat(1_000_000)))
  expect(JSON.stringify(trace.end('failed', undefined)).length).toBeLessThan(16_000)
})

test('the record has hidden text of a model, and shows it to no person', async () => {
  const { memory, turnContext } = openTurnBench(async function* () {
    yield { withheld: [{ kind: 'reasoning', text: 'Hours?' }] }
    yield 'Open daily.'
    yield { withheld: [{ kind: 'reasoning', text: 'x'.repeat(99_999) }] }
  })
  const notify = vi.spyOn(memory.store, 'notify')
  await runTurn(turn(1), turnContext, neverAbortedSignal)
  const { answer } = memory.commits[0] ?? {}
  expect(answer?.attempt?.withheld).toEqual([{ kind: 'reasoning', text: expect.stringMatching(/^Hours\?x{32762}$/) }])
  expect(JSON.stringify([answer?.response, notify.mock.calls])).not.toMatch(/withheld|Hours/)
})
