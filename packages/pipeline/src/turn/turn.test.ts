import { getEventListeners } from 'node:events'
import { LeaseLost, noLog, Unavailable } from '@postern/message'
import { describe, expect, test, vi } from 'vitest'
import { createGate, createQuietSystem, turn } from '../../test/memory-store.ts'
import {
  channel,
  expectNeutralFailure,
  neverAbortedSignal,
  openTurnBench,
  receivedAt,
  runTurnOf,
} from '../../test/turn-bench.ts'
import type { Agent } from '../ports/agent/agent.ts'
import type { Channel } from '../ports/channel/channel.ts'
import { runTurn } from './turn.ts'

describe('runTurn()', () => {
  test('commits the answer with the deliveries and aliases of its channel', async () => {
    const answer = await runTurnOf(() => 'hi')
    expect(answer?.response).toMatchObject({ status: 'completed', in_reply_to: 'https://peer.test/activities/1' })
    expect(answer?.deliveries).toEqual([{ to: 'https://peer.test/inbox', target: null }])
    expect(answer?.aliases).toEqual([`https://agents.test/posts/${answer?.response?.id}`])
    expect(answer?.error).toBeUndefined()
  })

  test('commits silence without a response and without deliveries', async () => {
    expect(await runTurnOf(() => undefined)).toEqual({
      deliveries: [],
      state: undefined,
      attempt: expect.objectContaining({ outcome: 'silent' }),
    })
  })

  test('commits an answer without deliveries if its channel is closed', async () => {
    const answer = await runTurnOf(() => 'hi', { channels: [] })
    expect(answer).toMatchObject({ deliveries: [], aliases: [], response: { status: 'completed' } })
  })

  test.each<[string, Agent['handle']]>([
    [
      'throws',
      () => {
        throw new Error('the password is hunter2')
      },
    ],
    [
      'rejects',
      async () => {
        throw new Error('the password is hunter2')
      },
    ],
    [
      'throws in its stream',
      async function* () {
        yield 'part'
        throw new Error('the password is hunter2')
      },
    ],
  ])('hides the error from the peer if the agent %s', async (_how, handle) => {
    const answer = await runTurnOf(handle)
    expectNeutralFailure(answer)
    expect(answer?.error).toBe('the password is hunter2')
    expect(JSON.stringify(answer?.response)).not.toContain('hunter2')
  })

  test.each<[string, unknown]>([
    ['a number', 7],
    ['a completed response without parts', {}],
    ['a malformed part', { parts: [{ kind: 'text' }] }],
  ])('fails if the agent returns %s', async (_what, wrong) => {
    expectNeutralFailure(await runTurnOf(() => wrong as string))
  })

  test('logs the agent’s error with the correlation id', async () => {
    const error = vi.fn()
    const system = createQuietSystem({ log: { ...noLog, error } })
    const agentError = new Error('broken')
    await runTurnOf(() => Promise.reject(agentError), { system })
    expect(error).toHaveBeenCalledWith({ correlation_id: 'c1', agent: 'echo', err: agentError }, 'agent failed')
  })

  test('keeps only a thousand characters of a long error message', async () => {
    const error = vi.fn()
    const system = createQuietSystem({ log: { ...noLog, error } })
    const answer = await runTurnOf(() => Promise.reject(new Error('x'.repeat(5_000_000))), { system })
    expect(answer?.error).toBe(`${'x'.repeat(1_000)} …`)
    const [{ err }] = error.mock.calls[0] as [{ err: Error }]
    expect(err.message.length + (err.stack?.length ?? 0)).toBeLessThan(3_000)
  })

  test('fails at the deadline and aborts the agent', async () => {
    let signal: AbortSignal | undefined
    const answer = await runTurnOf(
      (_message, context) => {
        signal = context.signal
        return new Promise(() => {})
      },
      { deadlineMs: 10 },
    )
    expectNeutralFailure(answer)
    expect(signal?.aborted).toBe(true)
    expect(signal?.reason).toMatchObject({ name: 'TimeoutError' })
  })

  test('frees the memory of an ended turn', async () => {
    let signal: AbortSignal | undefined
    await runTurnOf((_message, context) => {
      signal = context.signal
      return 'hi'
    })
    expect(signal && getEventListeners(signal, 'abort')).toEqual([])
  })

  test.each([
    ['canceled', 'canceled'],
    ['deleted', 'its author has taken the message back'],
    ['interrupted', 'interrupted by a newer message'],
    ['edited', 'its author has changed the message'],
  ] as const)('aborts the agent if the turn is %s', async (kind, error) => {
    const handleStart = createGate()
    let reason: unknown
    const { memory, turnContext } = openTurnBench((_message, { signal }) => {
      handleStart.open()
      return new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          reason = signal.reason
          reject(reason)
        }),
      )
    })
    const turnEnd = runTurn(turn(1), turnContext, neverAbortedSignal)
    await handleStart.opened
    memory.store.notify('message:2', { kind })
    memory.store.notify('message:1', { kind })
    await turnEnd
    expect(memory.commits[0]?.answer.error).toBe(error)
    expect(reason).toMatchObject({ name: 'TurnAborted', kind })
  })

  test('ends no run for an edit that came before its lease', async () => {
    const [handleStart, answerGate] = [createGate(), createGate()]
    const { memory, turnContext } = openTurnBench(async (_message, { signal }) => {
      handleStart.open()
      await answerGate.opened
      signal.throwIfAborted()
      return 'hi'
    })
    const turnEnd = runTurn(turn(1), turnContext, neverAbortedSignal)
    await handleStart.opened
    memory.store.notify('message:1', { kind: 'edited', token: 0 })
    answerGate.open()
    await turnEnd
    expect(memory.commits[0]?.answer.response?.status).toBe('completed')
  })

  test('logs a canceled turn in one line of information', async () => {
    const handleStart = createGate()
    const log = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() }
    const handle: Agent['handle'] = async (_message, { signal }) => {
      handleStart.open()
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('fetch failed'))))
    }
    const { memory, turnContext } = openTurnBench(handle, { system: createQuietSystem({ log }) })
    vi.spyOn(memory.store, 'commit').mockRejectedValue(new LeaseLost('its work is over'))
    const worked = runTurn(turn(1), turnContext, neverAbortedSignal)
    await handleStart.opened
    memory.store.notify('message:1', { kind: 'canceled' })
    await worked
    const logFields = { correlation_id: 'c1', message: 1, agent: 'echo', reason: 'canceled' }
    expect(log.info.mock.calls).toEqual([[logFields, 'turn aborted']])
    expect([log.warn, log.error, log.debug].flatMap(({ mock }) => mock.calls)).toEqual([])
  })

  test('stops listening after the turn', async () => {
    const { memory, turnContext } = openTurnBench(() => 'hi')
    const unlisten = vi.fn()
    vi.spyOn(memory.store, 'listen').mockReturnValue(unlisten)
    await runTurn(turn(1), turnContext, neverAbortedSignal)
    vi.spyOn(memory.store, 'readHistory').mockRejectedValue(new Error('disk'))
    await runTurn(turn(2), turnContext, neverAbortedSignal)
    expect(unlisten).toHaveBeenCalledTimes(2)
  })

  test('releases the turn for a later attempt if a dependency does not answer', async () => {
    const { memory, turnContext } = openTurnBench(() =>
      Promise.reject(new Unavailable('No answer', { retryAfter: 90 })),
    )
    await runTurn({ ...turn(1), attempt: 2 }, turnContext, neverAbortedSignal)
    expect(memory.commits).toEqual([])
    expect(memory.releases).toMatchObject([{ dueAt: receivedAt + 90_000, isUncounted: undefined }])
  })

  test('retries only until the time limit since the first attempt, even if the agent asks for a longer wait', async () => {
    const { memory, turnContext } = openTurnBench(() =>
      Promise.reject(new Unavailable('No answer', { retryAfter: 7_200 })),
    )
    await runTurn(turn(1), turnContext, neverAbortedSignal)
    expect(memory.releases).toMatchObject([{ dueAt: receivedAt + 3_600_000 }])
    expect(memory.commits).toEqual([])
  })

  test('fails permanently at the time limit', async () => {
    const { memory, turnContext } = openTurnBench(() => Promise.reject(new Unavailable('No answer')))
    await runTurn({ ...turn(1), firstAttemptAt: receivedAt - 3_600_000 }, turnContext, neverAbortedSignal)
    expect(memory.releases).toEqual([])
    expectNeutralFailure(memory.commits[0]?.answer)
    expect(memory.commits[0]?.answer.error).toBe('No answer')
  })

  test('keeps the streamed part of an answer whose agent fails for good', async () => {
    const streamUntilError = async function* () {
      yield 'half '
      yield 'of it'
      throw new Unavailable('No answer')
    }
    const { memory, turnContext } = openTurnBench(() => streamUntilError())
    await runTurn({ ...turn(1), firstAttemptAt: receivedAt - 3_600_000 }, turnContext, neverAbortedSignal)
    expectNeutralFailure(memory.commits[0]?.answer)
    expect(memory.commits[0]?.answer.response?.unfinished).toEqual([
      { kind: 'text', mime: 'text/markdown', content: 'half of it' },
    ])
  })

  test('answers a turn as failed after its third crash, without another run', async () => {
    const handle = vi.fn(() => 'hi')
    const { memory, turnContext } = openTurnBench(handle)
    await runTurn({ ...turn(1), crashes: 3 }, turnContext, neverAbortedSignal)
    expect(handle).not.toHaveBeenCalled()
    expectNeutralFailure(memory.commits[0]?.answer)
    expect(memory.commits[0]?.answer).toMatchObject({
      error: 'gave up after 3 crashes',
      attempt: { outcome: 'failed', reason: 'agent_crashes' },
    })
  })

  test('answers for a removed agent', async () => {
    const { memory, turnContext } = openTurnBench(undefined)
    await runTurn(turn(1), turnContext, neverAbortedSignal)
    expectNeutralFailure(memory.commits[0]?.answer)
    expect(memory.commits[0]?.answer).toMatchObject({
      error: 'there is no such agent any more',
      attempt: { outcome: 'failed', reason: 'agent_removed' },
    })
  })

  test('ends a turn whose answer no channel can address', async () => {
    const address = () => {
      throw new TypeError('target.inbox is undefined')
    }
    const answer = await runTurnOf(() => 'hi', {
      channels: [{ ...channel, address } as Partial<Channel> as Channel],
    })
    expect(answer).toMatchObject({ deliveries: [], error: 'target.inbox is undefined', response: { status: 'failed' } })
  })

  test('releases the turn without counting the attempt when the process shuts down', async () => {
    const stopController = new AbortController()
    const { memory, turnContext } = openTurnBench(() => new Promise(() => stopController.abort()))
    await runTurn(turn(1), turnContext, stopController.signal)
    expect(memory.commits).toEqual([])
    expect(memory.releases).toMatchObject([{ dueAt: receivedAt, isUncounted: true }])
  })

  test('does not call the agent after the shutdown', async () => {
    const handle = vi.fn(() => 'hi')
    const { memory, turnContext } = openTurnBench(handle)
    await runTurn(turn(1), turnContext, AbortSignal.abort(new Error('shutting down')))
    expect(handle).not.toHaveBeenCalled()
    expect(memory.releases).toMatchObject([{ isUncounted: true }])
  })

  test('drops the answer if another process now holds the turn', async () => {
    const { memory, turnContext } = openTurnBench(() => 'hi')
    vi.spyOn(memory.store, 'commit').mockRejectedValue(new LeaseLost('lost'))
    await expect(runTurn(turn(1), turnContext, neverAbortedSignal)).rejects.toThrow(LeaseLost)
    expect(memory.releases).toEqual([])
  })
})
