import type { TokenUsage } from '@postern/message'
import { LeaseLost, Unavailable } from '@postern/message'
import { describe, expect, test, vi } from 'vitest'
import { turn } from '../../test/memory-store.ts'
import { expectNeutralFailure, neverAbortedSignal, openTurnBench, runTurnOf } from '../../test/turn-bench.ts'
import type { Agent, AgentChunk } from '../ports/agent/agent.ts'
import { runTurn } from './turn.ts'

const usage: TokenUsage = { model: 'm', input_tokens: 10, output_tokens: 2 }
const doubledUsage: TokenUsage = { model: 'm', input_tokens: 20, output_tokens: 4, total_tokens: 24 }

async function* stream(...chunks: readonly AgentChunk[]): AsyncGenerator<AgentChunk> {
  yield* chunks
}

async function* streamThenThrow(error: Error): AsyncGenerator<AgentChunk> {
  yield { usage: [usage] }
  yield 'half'
  yield { usage: [usage] }
  throw error
}

/** Runs a turn, and returns the counted tokens and the committed answer. */
async function runTestTurn(handle: Agent['handle']) {
  const countUsage = vi.fn()
  const { memory, turnContext } = openTurnBench(handle, { countUsage })
  await runTurn(turn(1), turnContext, neverAbortedSignal)
  return { answer: memory.commits[0]?.answer, releases: memory.releases, countedUsage: countUsage.mock.calls }
}

describe('the usage of a turn', () => {
  test('stays with the answer, whether the agent streams or returns the answer', async () => {
    const parts = [{ kind: 'text', mime: 'text/plain', content: 'hi' }] as const
    const pieces = stream({ usage: [usage] }, 'hi', { usage: [usage] })
    expect((await runTurnOf(() => pieces))?.response?.usage).toEqual([doubledUsage])
    expect((await runTurnOf(() => ({ parts: [...parts], usage: [usage, usage] })))?.response?.usage).toEqual([
      doubledUsage,
    ])
    expect((await runTurnOf(() => 'hi'))?.response).not.toHaveProperty('usage')
    expect((await runTurnOf(() => ({ parts: [...parts], usage: [] })))?.response).not.toHaveProperty('usage')
  })

  test('includes interim text', async () => {
    const interimText: AgentChunk = { status: 'working', parts: [{ kind: 'text', mime: 'text/plain', content: '…' }] }
    const answer = await runTurnOf(() => stream({ ...interimText, usage: [usage] }, { usage: [usage] }, 'hi'))
    expect(answer?.response).toMatchObject({ status: 'completed', usage: [doubledUsage] })
  })

  test('creates no answer if the agent says nothing', async () => {
    for (const handle of [() => stream({ usage: [usage] }), () => ({ usage: [usage] })]) {
      const { answer, countedUsage: counted } = await runTestTurn(handle)
      expect(answer).toEqual({
        deliveries: [],
        state: undefined,
        attempt: expect.objectContaining({ outcome: 'silent' }),
      })
      expect(counted).toEqual([['echo', [expect.objectContaining(usage)]]])
    }
  })

  test('stays with the failure of an agent that throws in its stream, and counts once', async () => {
    const { answer, countedUsage: counted } = await runTestTurn(() => streamThenThrow(new Error('broken')))
    expectNeutralFailure(answer)
    expect(answer?.response?.usage).toEqual([doubledUsage])
    expect(counted).toEqual([['echo', [doubledUsage]]])
  })

  test('includes a failed earlier attempt', async () => {
    const { releases, countedUsage: counted } = await runTestTurn(() => streamThenThrow(new Unavailable('later')))
    expect(releases).toHaveLength(1)
    expect(counted).toEqual([['echo', [doubledUsage]]])
  })

  test('stays with the text of a canceled turn', async () => {
    const { memory, turnContext } = openTurnBench(() => stream({ usage: [usage] }, 'half'))
    const storeStreamedAnswer = vi.fn()
    Object.assign(memory.store, { storeStreamedAnswer })
    vi.spyOn(memory.store, 'commit').mockRejectedValue(new LeaseLost('canceled'))
    await expect(runTurn(turn(1), turnContext, neverAbortedSignal)).rejects.toThrow(LeaseLost)
    expect(storeStreamedAnswer.mock.calls[0]?.[1].body).toMatchObject({
      is_incomplete: true,
      usage: [expect.objectContaining(usage)],
    })
  })

  test('fails the answer if its numbers do not add up', async () => {
    const inconsistentUsage = [{ input_tokens: 1, output_tokens: 1, total_tokens: 3 }]
    const answer = await runTurnOf(() => ({
      parts: [{ kind: 'text', mime: 'text/plain', content: 'hi' }],
      usage: inconsistentUsage,
    }))
    expectNeutralFailure(answer)
    expect(answer?.error).toContain('is not "input_tokens" plus "output_tokens"')
  })
})
