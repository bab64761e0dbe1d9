import { describe, expect, test, vi } from 'vitest'
import type { MemoryDesk } from '../test/memory-desk.ts'
import { createGate, createMemoryDesk, createQuietWorld, silentLog, turn } from '../test/memory-desk.ts'
import type { Agent, AgentChunk } from './agent.ts'
import type { Turn } from './desk.ts'
import { LeaseLost, Unavailable } from './errors.ts'
import { createSlidingWindowPolicy } from './history.ts'
import type { NormalizedMessage } from './message.ts'
import type { Channel } from './protocol.ts'
import type { Working } from './turn.ts'
import { workTurn } from './turn.ts'

const running = new AbortController().signal
const retry = { baseMs: 1_000, capMs: 60_000, giveUpAfterMs: 3_600_000 }
const receivedAt = Date.parse('2026-01-01T00:00:00.000Z')

const channel: Pick<Channel, 'name' | 'address'> = {
  name: 'activitypub',
  address: ({ response }) => ({
    deliveries: [{ to: 'https://peer.test/inbox', target: null }],
    aliases: [`https://agents.test/posts/${response.id}`],
  }),
}

interface Bench {
  readonly memory: MemoryDesk
  readonly working: Working
}

function openBench(
  handle: Agent['handle'] | undefined,
  members: Partial<Working> & { deadlineMs?: number } = {},
): Bench {
  const { deadlineMs = 5_000, ...rest } = members
  const memory = createMemoryDesk()
  const history = createSlidingWindowPolicy()
  const working: Working = {
    desk: memory.desk,
    world: createQuietWorld({ now: () => receivedAt }),
    retry,
    maxAttempts: 3,
    findAgent: () => handle && { agent: { handle }, history, deadlineMs },
    findChannel: () => channel as Channel,
    presentParts: parts => [...parts],
    readAttachment: async () => ({ bytes: new Uint8Array([1]), name: 'a' }),
    ...rest,
  }
  return { memory, working }
}

/** Works one turn and tells the answer that was committed. */
async function answerTo(handle: Agent['handle'], members: Parameters<typeof openBench>[1] = {}) {
  const { memory, working } = openBench(handle, members)
  await workTurn(turn(1), working, running)
  return memory.commits[0]?.answer
}

const neutralText = 'Sorry, this could not be answered. Reference: c1'

function expectNeutral(answer: Awaited<ReturnType<typeof answerTo>>): void {
  expect(answer?.response?.status).toBe('failed')
  expect(answer?.response?.parts).toEqual([{ kind: 'text', mime: 'text/plain', content: neutralText }])
  expect(answer?.deliveries).toHaveLength(1)
}

describe('workTurn()', () => {
  test('commits the answer with the deliveries and aliases its channel gives', async () => {
    const answer = await answerTo(() => 'hi')
    expect(answer?.response).toMatchObject({ status: 'completed', in_reply_to: 'https://peer.test/activities/1' })
    expect(answer?.deliveries).toEqual([{ to: 'https://peer.test/inbox', target: null }])
    expect(answer?.aliases).toEqual([`https://agents.test/posts/${answer?.response?.id}`])
    expect(answer?.error).toBeUndefined()
  })

  test('commits silence without a response and without deliveries', async () => {
    expect(await answerTo(() => undefined)).toEqual({ deliveries: [], state: undefined })
  })

  test('commits an answer whose channel is closed, without deliveries', async () => {
    const answer = await answerTo(() => 'hi', { findChannel: () => undefined })
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
      'breaks off its stream',
      async function* () {
        yield 'part'
        throw new Error('the password is hunter2')
      },
    ],
  ])('tells the peer nothing of the error when the agent %s', async (_how, handle) => {
    const answer = await answerTo(handle)
    expectNeutral(answer)
    expect(answer?.error).toBe('the password is hunter2')
    expect(JSON.stringify(answer?.response)).not.toContain('hunter2')
  })

  test.each<[string, unknown]>([
    ['a number', 7],
    ['a completed response without parts', {}],
    ['a malformed part', { parts: [{ kind: 'text' }] }],
  ])('fails when the agent hands over %s', async (_what, wrong) => {
    expectNeutral(await answerTo(() => wrong as string))
  })

  test('writes the error of the agent to the log, with the correlation id', async () => {
    const error = vi.fn()
    const world = createQuietWorld({ log: { ...silentLog, error } })
    const broken = new Error('broken')
    await answerTo(() => Promise.reject(broken), { world })
    expect(error).toHaveBeenCalledWith({ correlation_id: 'c1', agent: 'echo', err: broken }, 'agent failed')
  })

  test('fails at the deadline and tells the agent so', async () => {
    let signal: AbortSignal | undefined
    const answer = await answerTo(
      (_message, context) => {
        signal = context.signal
        return new Promise(() => {})
      },
      { deadlineMs: 10 },
    )
    expectNeutral(answer)
    expect(signal?.aborted).toBe(true)
    expect(signal?.reason).toMatchObject({ name: 'TimeoutError' })
  })

  test('aborts the agent when the turn is canceled', async () => {
    const begun = createGate()
    const { memory, working } = openBench((_message, { signal }) => {
      begun.open()
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    })
    const worked = workTurn(turn(1), working, running)
    await begun.opened
    memory.desk.notify('message:2', { kind: 'canceled' })
    memory.desk.notify('message:1', { kind: 'canceled' })
    await worked
    expect(memory.commits[0]?.answer.error).toBe('canceled')
  })

  test('stops listening when the turn is over', async () => {
    const { memory, working } = openBench(() => 'hi')
    const unlisten = vi.fn()
    vi.spyOn(memory.desk, 'listen').mockReturnValue(unlisten)
    await workTurn(turn(1), working, running)
    vi.spyOn(memory.desk, 'readHistory').mockRejectedValue(new Error('disk'))
    await workTurn(turn(2), working, running)
    expect(unlisten).toHaveBeenCalledTimes(2)
  })

  test('gives the turn back, to be tried later, when something did not answer', async () => {
    const { memory, working } = openBench(() => Promise.reject(new Unavailable('No answer', { retryAfter: 90 })))
    await workTurn({ ...turn(1), attempt: 2 }, working, running)
    expect(memory.commits).toEqual([])
    expect(memory.releases).toMatchObject([{ dueAt: receivedAt + 90_000, uncounted: undefined }])
  })

  test('fails for good when waiting would take too long', async () => {
    const { memory, working } = openBench(() => Promise.reject(new Unavailable('No answer', { retryAfter: 7_200 })))
    await workTurn(turn(1), working, running)
    expect(memory.releases).toEqual([])
    expectNeutral(memory.commits[0]?.answer)
    expect(memory.commits[0]?.answer.error).toBe('No answer')
  })

  test('answers a turn that never came to an end as failed, without running it again', async () => {
    const handle = vi.fn(() => 'hi')
    const { memory, working } = openBench(handle)
    await workTurn({ ...turn(1), attempt: 4 }, working, running)
    expect(handle).not.toHaveBeenCalled()
    expectNeutral(memory.commits[0]?.answer)
    expect(memory.commits[0]?.answer.error).toBe('gave up after 3 attempts')
  })

  test('answers for an agent that is gone', async () => {
    const { memory, working } = openBench(undefined)
    await workTurn(turn(1), working, running)
    expectNeutral(memory.commits[0]?.answer)
    expect(memory.commits[0]?.answer.error).toBe('there is no such agent any more')
  })

  test('ends a turn whose answer no channel can address', async () => {
    const address = () => {
      throw new TypeError('target.inbox is undefined')
    }
    const answer = await answerTo(() => 'hi', {
      findChannel: () => ({ ...channel, address }) as Partial<Channel> as Channel,
    })
    expect(answer).toMatchObject({ deliveries: [], error: 'target.inbox is undefined', response: { status: 'failed' } })
  })

  test('gives the turn back uncounted when the process shuts down', async () => {
    const stop = new AbortController()
    const { memory, working } = openBench(() => new Promise(() => stop.abort()))
    await workTurn(turn(1), working, stop.signal)
    expect(memory.commits).toEqual([])
    expect(memory.releases).toMatchObject([{ dueAt: receivedAt, uncounted: true }])
  })

  test('does not call the agent any more once the process has shut down', async () => {
    const handle = vi.fn(() => 'hi')
    const { memory, working } = openBench(handle)
    await workTurn(turn(1), working, AbortSignal.abort(new Error('shutting down')))
    expect(handle).not.toHaveBeenCalled()
    expect(memory.releases).toMatchObject([{ uncounted: true }])
  })

  test('throws the answer away when somebody else holds the turn by now', async () => {
    const { memory, working } = openBench(() => 'hi')
    vi.spyOn(memory.desk, 'commit').mockRejectedValue(new LeaseLost('lost'))
    await expect(workTurn(turn(1), working, running)).rejects.toThrow(LeaseLost)
    expect(memory.releases).toEqual([])
  })

  test('tells of every streamed piece in order, before the answer is committed', async () => {
    const heard: string[] = []
    const { memory, working } = openBench(async function* (): AsyncGenerator<AgentChunk> {
      yield 'one, '
      yield 'two'
    })
    memory.desk.listen('message:1', notice => {
      const { chunk } = notice as { chunk: { parts: { content: string }[] } }
      heard.push(`${chunk.parts[0]?.content}${memory.commits.length}`)
    })
    await workTurn(turn(1), working, running)
    expect(heard).toEqual(['one, 0', 'two0'])
    expect(memory.commits[0]?.answer.response?.parts).toMatchObject([{ content: 'one, two' }])
  })

  test('tells of no piece after the deadline, and ends the stream', async () => {
    const late = createGate()
    const ended = createGate()
    const { memory, working } = openBench(
      async function* () {
        try {
          await late.opened
          yield 'too late'
        } finally {
          ended.open()
        }
      },
      { deadlineMs: 10 },
    )
    const heard = vi.fn()
    memory.desk.listen('message:1', heard)
    await workTurn(turn(1), working, running)
    late.open()
    await ended.opened
    expect(heard).not.toHaveBeenCalled()
  })

  test('commits the state with the answer', async () => {
    const answer = await answerTo((_message, { state }) => {
      state.set({ colour: 'blue' })
      return 'done'
    })
    expect(answer?.state).toEqual({ colour: 'blue' })
  })

  test('commits no state with a failure', async () => {
    const answer = await answerTo((_message, { state }) => {
      state.set({ colour: 'blue' })
      throw new Error('broken')
    })
    expectNeutral(answer)
    expect(answer?.state).toBeUndefined()
  })

  test('reads back the state of this turn before that of the last', async () => {
    const { memory, working } = openBench(async (_message, { state }) => {
      const before = await state.get()
      state.set(null)
      return JSON.stringify([before, await state.get()])
    })
    vi.spyOn(memory.desk, 'readState').mockResolvedValue('stored')
    await workTurn(turn(1), working, running)
    expect(memory.commits[0]?.answer.response?.parts).toMatchObject([{ content: '["stored",null]' }])
  })

  test('gives the agent its history, presented parts, attachments and a log that knows the message', async () => {
    const info = vi.fn()
    let seen: NormalizedMessage | undefined
    const { memory, working } = openBench(
      async (message, { history, attachment, log, correlationId }) => {
        seen = message
        log.info({ step: 1 }, 'working')
        const { bytes } = await attachment({ kind: 'file', bytes_ref: { kind: 'inline', data_base64: 'AQ==' } })
        return JSON.stringify([correlationId, history().turns.length, history().cacheBreakpointAfter, bytes.length])
      },
      { presentParts: () => [{ kind: 'link', url: 'https://agents.test/signed' }] },
    )
    vi.spyOn(memory.desk, 'readHistory').mockImplementation(async ({ thread, before, head, tail }) => {
      expect({ thread, before, head, tail }).toEqual({ thread: 1, before: 1, head: 9, tail: 80 })
      return ['user', 'assistant', 'user', 'assistant'].map((role, seq) => ({
        seq,
        entryId: `e${seq}`,
        role: role as 'user',
        author: { address: '@alice@peer.test' },
        parts: [{ kind: 'text', mime: 'text/plain', content: role }],
        at: '2026-01-01T00:00:00.000Z',
      }))
    })
    await workTurn(turn(1), { ...working, world: createQuietWorld({ log: { ...silentLog, info } }) }, running)
    expect(memory.commits[0]?.answer.response?.parts).toMatchObject([{ content: '["c1",4,1,1]' }])
    expect(seen?.history).toHaveLength(4)
    expect(seen?.parts).toEqual([{ kind: 'link', url: 'https://agents.test/signed' }])
    expect(info).toHaveBeenCalledWith({ correlation_id: 'c1', agent: 'echo', step: 1 }, 'working')
  })

  test('does not read what arrived unless the agent does', async () => {
    const raw = vi.fn(() => 'octets')
    const lazy = (): Turn => {
      const { content, ...rest } = turn(1)
      return { ...rest, content: Object.defineProperty({ ...content }, 'raw', { get: raw, enumerable: true }) }
    }
    const indifferent = openBench(() => 'hi')
    await workTurn(lazy(), indifferent.working, running)
    expect(raw).not.toHaveBeenCalled()
    const curious = openBench(message => String(message.raw))
    await workTurn(lazy(), curious.working, running)
    expect(curious.memory.commits[0]?.answer.response?.parts).toMatchObject([{ content: 'octets' }])
  })
})
