import { describe, expect, test, vi } from 'vitest'
import { createQuietSystem } from '../../../test/memory-store.ts'
import { expectNeutralFailure, runTurnOf } from '../../../test/turn-bench.ts'
import type { Agent } from '../../ports/agent/agent.ts'

const mebibyteText = 'x'.repeat(1024 * 1024)

describe('an answer', () => {
  test.each<[string, Agent['handle'], RegExp]>([
    ['a text', () => mebibyteText.repeat(5), /larger than 4194304 bytes/],
    ['a text of fewer characters than bytes', () => 'ü'.repeat(3 * 1024 * 1024), /larger than 4194304 bytes/],
    [
      'many parts',
      () => ({ parts: Array(5).fill({ kind: 'text', mime: 'text/plain', content: mebibyteText }) }),
      /larger than/,
    ],
    ['a state of the chat', () => ({ parts: [], chat_state: { a: mebibyteText.repeat(5) } }), /larger than/],
    [
      'a stream',
      async function* () {
        for (;;) yield mebibyteText
      },
      /larger than/,
    ],
    [
      'a stream of parts',
      async function* () {
        for (;;) yield { kind: 'link', url: 'https://agents.test/' } as const
      },
      /more than 5000 parts/,
    ],
  ])('fails when it is too large: %s', async (_what, handle, problem) => {
    const answer = await runTurnOf(handle)
    expectNeutralFailure(answer)
    expect(answer?.error).toMatch(problem)
  })

  test('may have megabytes of text, and larger files', async () => {
    const file = {
      kind: 'file',
      bytes_ref: { kind: 'inline', data_base64: Buffer.alloc(5 << 20).toString('base64') },
    } as const
    const answer = await runTurnOf(() => ({
      parts: [{ kind: 'text', mime: 'text/plain', content: mebibyteText.repeat(3) }, file],
    }))
    expect(answer?.response?.status).toBe('completed')
  })
})

describe('an agent’s state', () => {
  test('fails its turn if it is too large', async () => {
    const answer = await runTurnOf((_message, { state }) => {
      state.set({ kept: mebibyteText.repeat(5) })
      return 'Done.'
    })
    expectNeutralFailure(answer)
    expect(answer?.error).toMatch(
      /^Cannot keep the state of the conversation: it has \d+ bytes as JSON, more than 4194304$/,
    )
  })

  test('may have almost 4 MiB', async () => {
    const state = { kept: 'x'.repeat(4 * 1024 * 1024 - 64) }
    const answer = await runTurnOf((_message, context) => {
      context.state.set(state)
      return 'Done.'
    })
    expect(answer?.state).toEqual(state)
  })
})

test.each<[string, Agent['handle']]>([
  [
    'empty pieces',
    async function* () {
      for (;;) yield ''
    },
  ],
  [
    'stages',
    async function* () {
      for (;;) yield { status: 'working' } as const
    },
  ],
])(
  'a stream of %s without end or pause stops at its deadline, and other turns continue meanwhile',
  async (_what, handle) => {
    const onTick = vi.fn()
    const timer = setInterval(onTick, 5)
    const startedAt = performance.now()
    const answer = await runTurnOf(handle, { deadlineMs: 300, system: createQuietSystem({ now: Date.now }) })
    clearInterval(timer)
    expectNeutralFailure(answer)
    expect(answer?.attempt?.outcome).toBe('timed_out')
    expect(performance.now() - startedAt).toBeLessThan(10_000)
    expect(onTick.mock.calls.length).toBeGreaterThan(3)
  },
)
