import { describe, expect, test, vi } from 'vitest'
import { createQuietSystem } from '../../../test/memory-store.ts'
import { answerTo, expectNeutral } from '../../../test/turn-bench.ts'
import type { Agent } from '../../ports/agent/agent.ts'

const mega = 'x'.repeat(1024 * 1024)

describe('an answer', () => {
  test.each<[string, Agent['handle'], RegExp]>([
    ['a text', () => mega.repeat(5), /larger than 4194304 bytes/],
    ['a text of fewer characters than bytes', () => 'ü'.repeat(3 * 1024 * 1024), /larger than 4194304 bytes/],
    [
      'many parts',
      () => ({ parts: Array(5).fill({ kind: 'text', mime: 'text/plain', content: mega }) }),
      /larger than/,
    ],
    ['a state of the chat', () => ({ parts: [], chat_state: { a: mega.repeat(5) } }), /larger than/],
    [
      'a stream',
      async function* () {
        for (;;) yield mega
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
    const answer = await answerTo(handle)
    expectNeutral(answer)
    expect(answer?.error).toMatch(problem)
  })

  test('may have megabytes, and larger files besides', async () => {
    const file = {
      kind: 'file',
      bytes_ref: { kind: 'inline', data_base64: Buffer.alloc(5 << 20).toString('base64') },
    } as const
    const answer = await answerTo(() => ({
      parts: [{ kind: 'text', mime: 'text/plain', content: mega.repeat(3) }, file],
    }))
    expect(answer?.response?.status).toBe('completed')
  })
})

describe('an agent’s state', () => {
  test('fails its turn if it is too large', async () => {
    const answer = await answerTo((_message, { state }) => {
      state.set({ kept: mega.repeat(5) })
      return 'Done.'
    })
    expectNeutral(answer)
    expect(answer?.error).toMatch(
      /^Cannot keep the state of the conversation: it has \d+ bytes as JSON, more than 4194304$/,
    )
  })

  test('may have almost 4 MiB', async () => {
    const state = { kept: 'x'.repeat(4 * 1024 * 1024 - 64) }
    const answer = await answerTo((_message, context) => {
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
    const ticked = vi.fn()
    const timer = setInterval(ticked, 5)
    const began = performance.now()
    const answer = await answerTo(handle, { deadlineMs: 300, system: createQuietSystem({ now: Date.now }) })
    clearInterval(timer)
    expectNeutral(answer)
    expect(answer?.attempt?.outcome).toBe('timed_out')
    expect(performance.now() - began).toBeLessThan(10_000)
    expect(ticked.mock.calls.length).toBeGreaterThan(3)
  },
)
