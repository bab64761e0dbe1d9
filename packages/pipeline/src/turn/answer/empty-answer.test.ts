import type { PartialResponse } from '@postern/message'
import { describe, expect, test, vi } from 'vitest'
import { turn } from '../../../test/memory-store.ts'
import { neverAbortedSignal, openTurnBench, runTurnOf } from '../../../test/turn-bench.ts'
import type { Agent, AgentAnswer, AgentChunk } from '../../ports/agent/agent.ts'
import { runTurn } from '../turn.ts'

const blankPart = { kind: 'text', mime: 'text/markdown', content: ' \n\t ' } as const

const streamChunks = (...chunks: readonly AgentChunk[]): Agent['handle'] =>
  async function* () {
    yield* chunks
  }

/** Runs one turn, and returns the pieces that readers saw and the committed answer. */
async function runWatchedTurn(handle: Agent['handle']) {
  const { memory, turnContext } = openTurnBench(handle)
  const notify = vi.spyOn(memory.store, 'notify')
  await runTurn(turn(1), turnContext, neverAbortedSignal)
  const watchedChunks = notify.mock.calls.flatMap(
    ([, notice]) => (notice as { readonly chunk?: PartialResponse }).chunk ?? [],
  )
  return { seen: watchedChunks, answer: memory.commits[0]?.answer }
}

describe('an answer without text', () => {
  test.each<[string, () => AgentAnswer]>([
    ['an empty text', () => ''],
    ['blanks', () => ' \n\t '],
    ['blank parts', () => ({ parts: [blankPart, { ...blankPart, content: '' }] })],
    ['no parts', () => ({ status: 'completed', parts: [] })],
    ['blank HTML', () => ({ parts: [{ kind: 'text', mime: 'text/html', content: '<p>&nbsp;</p>' }] })],
  ])('is no answer if it is %s, and the record says so', async (_what, handle) => {
    expect(await runTurnOf(handle)).toEqual({
      deliveries: [],
      state: undefined,
      attempt: expect.objectContaining({ outcome: 'empty_answer' }),
    })
  })

  test.each<[string, readonly AgentChunk[]]>([
    ['blank pieces', ['', ' ', '\n']],
    ['only a stage', [{ status: 'working', stage: 'intent' }]],
    ['blank interim text', [{ status: 'working', parts: [blankPart] }, ' ']],
  ])('is no answer if it streams %s, and watchers see no text', async (_what, chunks) => {
    const { seen, answer } = await runWatchedTurn(streamChunks(...chunks))
    expect(answer).toMatchObject({ deliveries: [], attempt: { outcome: 'empty_answer' } })
    expect(answer?.response).toBeUndefined()
    expect(seen.flatMap(({ parts = [] }) => parts)).toEqual([])
  })

  test('causes no call of a mentioned agent', async () => {
    const callAgent = vi.fn()
    const answer = await runTurnOf(() => ({ parts: [blankPart], mentions: ['@bob@agents.test'] }), { callAgent })
    expect(callAgent).not.toHaveBeenCalled()
    expect(answer?.response).toBeUndefined()
  })

  test('keeps its actions and its usage', async () => {
    const usage = [{ model: 'small', input_tokens: 3, output_tokens: 1 }]
    const answer = await runTurnOf((_message, context) => {
      context.state.set({ seen: true })
      return { parts: [blankPart], usage }
    })
    expect(answer?.response).toBeUndefined()
    expect(answer).toMatchObject({ state: { seen: true }, attempt: { outcome: 'empty_answer', usage } })
  })

  test('keeps a status that has a meaning of its own', async () => {
    const answer = await runTurnOf(() => ({ status: 'rejected', parts: [blankPart] }))
    expect(answer?.response).toMatchObject({ status: 'rejected', parts: [] })
  })
})

describe('an answer with content', () => {
  test('keeps its blanks, also at the start of a stream', async () => {
    const { seen, answer } = await runWatchedTurn(streamChunks(' ', '\n', 'a', ' ', 'b'))
    const content = ' \na b'
    expect(answer?.response?.parts).toEqual([{ ...blankPart, content }])
    const texts = seen.flatMap(({ parts = [] }) => parts.flatMap(part => (part.kind === 'text' ? part.content : [])))
    expect(texts.join('')).toBe(content)
  })

  test('may be only a file or a link', async () => {
    const link = { kind: 'link', url: 'https://agents.test/' } as const
    expect((await runTurnOf(() => ({ parts: [link] })))?.response?.parts).toEqual([link])
  })
})

test('the record distinguishes a silent agent from one with an empty answer', async () => {
  expect((await runTurnOf(() => undefined))?.attempt?.outcome).toBe('silent')
  expect((await runTurnOf(streamChunks()))?.attempt?.outcome).toBe('silent')
})

test('the gateway refuses empty posts and edits of an agent', async () => {
  const answer = await runTurnOf((_message, context) => {
    context.post(' \n')
    context.edit('earlier', '')
    return 'Done.'
  })
  expect(answer?.response?.status).toBe('completed')
  expect(answer?.acts).toBeUndefined()
})
