import type { TokenUsage } from '@postern/message'
import { LeaseLost, Unavailable } from '@postern/message'
import { describe, expect, test, vi } from 'vitest'
import { turn } from '../../test/memory-store.ts'
import { answerTo, expectNeutral, openBench, running } from '../../test/turn-bench.ts'
import type { Agent, AgentChunk } from '../ports/agent/agent.ts'
import { workTurn } from './turn.ts'

const spent: TokenUsage = { model: 'm', input_tokens: 10, output_tokens: 2 }
const twice: TokenUsage = { model: 'm', input_tokens: 20, output_tokens: 4, total_tokens: 24 }

async function* stream(...chunks: readonly AgentChunk[]): AsyncGenerator<AgentChunk> {
  yield* chunks
}

async function* breakOff(error: Error): AsyncGenerator<AgentChunk> {
  yield { usage: [spent] }
  yield 'half'
  yield { usage: [spent] }
  throw error
}

/** Works a turn, and returns the counted tokens and the committed answer. */
async function work(handle: Agent['handle']) {
  const countUsage = vi.fn()
  const { memory, turnContext } = openBench(handle, { countUsage })
  await workTurn(turn(1), turnContext, running)
  return { answer: memory.commits[0]?.answer, releases: memory.releases, counted: countUsage.mock.calls }
}

describe('the usage of a turn', () => {
  test('stays with its answer, streamed or not', async () => {
    const parts = [{ kind: 'text', mime: 'text/plain', content: 'hi' }] as const
    const pieces = stream({ usage: [spent] }, 'hi', { usage: [spent] })
    expect((await answerTo(() => pieces))?.response?.usage).toEqual([twice])
    expect((await answerTo(() => ({ parts: [...parts], usage: [spent, spent] })))?.response?.usage).toEqual([twice])
    expect((await answerTo(() => 'hi'))?.response).not.toHaveProperty('usage')
    expect((await answerTo(() => ({ parts: [...parts], usage: [] })))?.response).not.toHaveProperty('usage')
  })

  test('includes interim text', async () => {
    const interimText: AgentChunk = { status: 'working', parts: [{ kind: 'text', mime: 'text/plain', content: '…' }] }
    const answer = await answerTo(() => stream({ ...interimText, usage: [spent] }, { usage: [spent] }, 'hi'))
    expect(answer?.response).toMatchObject({ status: 'completed', usage: [twice] })
  })

  test('does not make an answer of silence', async () => {
    for (const handle of [() => stream({ usage: [spent] }), () => ({ usage: [spent] })]) {
      const { answer, counted } = await work(handle)
      expect(answer).toEqual({
        deliveries: [],
        state: undefined,
        attempt: expect.objectContaining({ outcome: 'silent' }),
      })
      expect(counted).toEqual([['echo', [expect.objectContaining(spent)]]])
    }
  })

  test('stays with the failure of an agent that breaks off, and counts once', async () => {
    const { answer, counted } = await work(() => breakOff(new Error('broken')))
    expectNeutral(answer)
    expect(answer?.response?.usage).toEqual([twice])
    expect(counted).toEqual([['echo', [twice]]])
  })

  test('includes a failed earlier try', async () => {
    const { releases, counted } = await work(() => breakOff(new Unavailable('later')))
    expect(releases).toHaveLength(1)
    expect(counted).toEqual([['echo', [twice]]])
  })

  test('stays with the text of a canceled turn', async () => {
    const { memory, turnContext } = openBench(() => stream({ usage: [spent] }, 'half'))
    const kept = vi.fn()
    Object.assign(memory.store, { keepStreamed: kept })
    vi.spyOn(memory.store, 'commit').mockRejectedValue(new LeaseLost('canceled'))
    await expect(workTurn(turn(1), turnContext, running)).rejects.toThrow(LeaseLost)
    expect(kept.mock.calls[0]?.[1].body).toMatchObject({ is_incomplete: true, usage: [expect.objectContaining(spent)] })
  })

  test('fails the answer if its numbers do not add up', async () => {
    const usage = [{ input_tokens: 1, output_tokens: 1, total_tokens: 3 }]
    const answer = await answerTo(() => ({ parts: [{ kind: 'text', mime: 'text/plain', content: 'hi' }], usage }))
    expectNeutral(answer)
    expect(answer?.error).toContain('is not "input_tokens" plus "output_tokens"')
  })
})
