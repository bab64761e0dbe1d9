import { describe, expect, test, vi } from 'vitest'
import { addressed } from '../../test/act-bench.ts'
import { createGate, createQuietPlatform, quietLog, turn } from '../../test/memory-store.ts'
import { channel, expectNeutral, openBench, receivedAt, running } from '../../test/turn-bench.ts'
import { Unavailable } from '../format/errors.ts'
import type { OutgoingAction } from '../message/outgoing-action.ts'
import type { Agent, AgentChunk } from '../ports/agent/agent.ts'
import type { Channel } from '../ports/channel.ts'
import type { PlannedAction } from '../ports/records/work.ts'
import { workTurn } from './turn.ts'

/** A bench whose channel can take back what it said, and does all deeds. */
function openStage(handle: Agent['handle'], members: { now?: () => number; deadlineMs?: number } = {}) {
  const { now = () => receivedAt, ...rest } = members
  const actions: OutgoingAction[] = []
  const able: Partial<Channel> = {
    ...channel,
    address: answered => ({ ...channel.address(answered), rendering: { first: true } }),
    addressAction(action) {
      actions.push(action)
      return addressed
    },
  }
  const platform = createQuietPlatform({ now, randomBytes: randomBytesInOrder() })
  const bench = openBench(handle, { platform, channels: [able as Channel], ...rest })
  vi.spyOn(bench.memory.store, 'readHistory').mockResolvedValue([])
  Object.assign(bench.memory.store, {
    findResponse: async () => undefined,
    findMessageTo: async () => ({ message: 1, via: 'activitypub', target: null }),
  })
  return { ...bench, actions, work: (token = 1) => workTurn({ ...turn(1), token }, bench.turnContext, running) }
}

function randomBytesInOrder(): (count: number) => Uint8Array {
  let made = 0
  return count => new Uint8Array(count).fill(++made)
}

function meanwhile(content: string): AgentChunk {
  return { status: 'working', parts: [{ kind: 'text', mime: 'text/markdown', content }] }
}

function kindsOf(acts: readonly PlannedAction[] | undefined): readonly string[] {
  return (acts ?? []).map(({ kind }) => kind)
}

describe('what an agent says meanwhile', () => {
  test('goes out at once, and gives way to its answer under the same id', async () => {
    const { memory, actions, work } = openStage(async function* () {
      yield meanwhile('looking')
      expect(memory.partialAnswers).toHaveLength(1)
      yield 'found'
    })
    await work()
    const [said] = memory.partialAnswers
    const [committed] = memory.commits
    expect(said?.answer).toMatchObject({ rendering: { first: true }, deliveries: [{ to: 'https://peer.test/inbox' }] })
    expect(said?.answer.isRevision).toBeUndefined()
    expect(said?.answer.response).toMatchObject({ status: 'working', parts: [{ content: 'looking' }] })
    expect(committed?.answer).toMatchObject({ isRevision: true, broadcasts: addressed.broadcasts })
    const { id, created_at } = said?.answer.response ?? {}
    expect(committed?.answer.response).toMatchObject({
      id,
      created_at,
      status: 'completed',
      parts: [{ content: 'found' }],
    })
    expect(actions).toMatchObject([
      { act: 'edit', rendering: { first: true }, response: { parts: [{ content: 'found' }] } },
    ])
  })

  test('goes out every three seconds at most', async () => {
    let now = receivedAt
    const { memory, actions, work } = openStage(
      async function* () {
        for (let second = 0; second <= 6; second++) {
          yield meanwhile(`${second} s`)
          now += 1_000
        }
        yield 'done'
      },
      { now: () => now },
    )
    await work()
    const said = memory.partialAnswers.map(({ answer }) => answer.response.parts)
    expect(said).toMatchObject([[{ content: '0 s' }], [{ content: '3 s' }], [{ content: '6 s' }]])
    expect(memory.partialAnswers.map(({ answer }) => answer.isRevision)).toEqual([undefined, true, true])
    const revisions = [...memory.partialAnswers, ...memory.commits].map(({ answer }) => answer.response?.created_at)
    expect(new Set(revisions)).toEqual(new Set([new Date(receivedAt).toISOString()]))
    expect(actions.map(action => 'rendering' in action && action.rendering)).toEqual(Array(3).fill({ first: true }))
  })

  test('reaches only those who watch where the channel cannot withdraw it', async () => {
    const { memory, turnContext } = openBench(async function* () {
      yield meanwhile('looking')
      yield 'found'
    })
    const heard = vi.fn()
    memory.store.listen('message:1', heard)
    await workTurn(turn(1), turnContext, running)
    expect(memory.partialAnswers).toEqual([])
    expect(heard).toHaveBeenCalledTimes(2)
    expect(memory.commits[0]?.answer.isRevision).toBeUndefined()
  })

  test('gives way to what a failing agent says instead', async () => {
    const { memory, work } = openStage(async function* () {
      yield meanwhile('looking')
      throw new Error('broken')
    })
    await work()
    expectNeutral(memory.commits[0]?.answer)
    expect(memory.commits[0]?.answer).toMatchObject({ isRevision: true, error: 'broken' })
    expect(memory.commits[0]?.answer.response?.id).toBe(memory.partialAnswers[0]?.answer.response.id)
  })

  test('gives way to the words at the deadline', async () => {
    const { memory, work } = openStage(
      async function* () {
        yield meanwhile('looking')
        await createGate().opened
      },
      { deadlineMs: 20 },
    )
    await work()
    expectNeutral(memory.commits[0]?.answer)
    expect(memory.commits[0]?.answer.isRevision).toBe(true)
  })

  test('gives way to a failure when the store refuses the answer, at the first try', async () => {
    const { memory, work } = openStage(async function* () {
      yield meanwhile('looking')
      yield 'found'
    })
    vi.spyOn(memory.store, 'commit').mockRejectedValueOnce(new TypeError('not JSON'))
    await work()
    expect(memory.commits).toMatchObject([{ answer: { isRevision: true, error: 'the answer cannot be stored' } }])
    expect(memory.commits[0]?.answer.response?.id).toBe(memory.partialAnswers[0]?.answer.response.id)
  })

  test('gives way to a failure when something does not answer for too long, at the first try', async () => {
    const { memory, work } = openStage(async function* () {
      yield meanwhile('looking')
      throw new Unavailable('No answer', { retryAfter: 7_200 })
    })
    await work()
    expect(memory.commits).toMatchObject([{ answer: { isRevision: true, error: 'No answer' } }])
  })

  test('changes when another process takes over the turn', async () => {
    const { memory, work } = openStage(async function* () {
      yield meanwhile('looking')
      throw new Unavailable('No answer')
    })
    await work()
    expect(memory.releases).toHaveLength(1)
    await work(2)
    const ids = memory.partialAnswers.map(({ answer }) => answer.response.id)
    expect(new Set(ids).size).toBe(1)
    expect(memory.partialAnswers.map(({ answer }) => answer.isRevision)).toEqual([undefined, true])
  })
})

describe('what an agent does', () => {
  test('commits together with its answer', async () => {
    let id = ''
    const { memory, work } = openStage((_message, context) => {
      id = context.post('news')
      context.react('like')
      return 'done'
    })
    await work()
    const [committed] = memory.commits
    expect(committed?.answer.acts).toMatchObject([
      { kind: 'post', answer: { response: { id } } },
      { kind: 'react', message: 1 },
    ])
    expect(committed?.answer.response).toMatchObject({ parts: [{ content: 'done' }] })
  })

  test.each<[string, Agent['handle']]>([
    ['returned', () => ({ acts: [{ act: 'like' }] })],
    ['returned with no parts', () => ({ acts: [{ act: 'like' }], parts: [] })],
    [
      'streamed',
      async function* () {
        yield { acts: [{ act: 'like' }] }
      },
    ],
    [
      'done while it says nothing',
      (_message, context) => {
        context.react('like')
        return undefined
      },
    ],
  ])('is no answer by itself, when it is %s', async (_how, handle) => {
    const { memory, work } = openStage(handle)
    await work()
    const [committed] = memory.commits
    expect(committed?.answer.response).toBeUndefined()
    expect(committed?.answer.error).toBeUndefined()
    expect(committed?.answer.deliveries).toEqual([])
    expect(kindsOf(committed?.answer.acts)).toEqual(['react'])
  })

  test('also commits when it comes with interim words', async () => {
    const { memory, work } = openStage(async function* () {
      yield { status: 'working', parts: [{ kind: 'text', mime: 'text/plain', content: '…' }], acts: [{ act: 'like' }] }
      yield 'done'
    })
    await work()
    expect(kindsOf(memory.commits[0]?.answer.acts)).toEqual(['react'])
    expect(memory.commits[0]?.answer.response?.parts).toMatchObject([{ content: 'done' }])
  })

  test.each<[string, Agent['handle']]>([
    [
      'throws',
      (_message, context) => {
        context.post('news')
        throw new Error('broken')
      },
    ],
    [
      'breaks off its stream',
      async function* (_message, context) {
        context.post('news')
        yield { acts: [{ act: 'like' }] }
        throw new Error('broken')
      },
    ],
    [
      'says what cannot be said',
      (_message, context) => {
        context.post('news')
        return { parts: [{ kind: 'text' }] } as never
      },
    ],
  ])('is not done when it %s', async (_how, handle) => {
    const { memory, work } = openStage(handle)
    await work()
    expectNeutral(memory.commits[0]?.answer)
    expect(memory.commits[0]?.answer.acts).toBeUndefined()
  })

  test('does not hold its answer back when it fails', async () => {
    const { memory, work } = openStage((_message, context) => {
      context.delete('unknown')
      return 'done'
    })
    await work()
    expect(memory.commits[0]?.answer.response).toMatchObject({ parts: [{ content: 'done' }] })
    expect(memory.commits[0]?.answer.acts).toBeUndefined()
  })
})

describe('what went before a message', () => {
  const background = (fetchBackground: Channel['fetchBackground']) => {
    const warn = vi.fn()
    const { memory, turnContext } = openBench(() => 'hi', {
      channels: [{ ...channel, ...(fetchBackground && { fetchBackground }) } as Channel],
      platform: createQuietPlatform({ now: () => receivedAt, log: { ...quietLog, warn } }),
    })
    const addBackground = vi.fn(async () => {})
    Object.assign(memory.store, { addBackground })
    const work = (members = {}) => workTurn({ ...turn(1), ...members }, turnContext, running)
    return { memory, addBackground, warn, work }
  }
  const entry = { nativeId: 'n1', author: { address: '@a@b.test' }, parts: [], at: '2026-01-01T00:00:00.000Z' }

  test('arrives in one fetch, before the gateway calls the agent', async () => {
    const fetch = vi.fn(async () => [entry])
    const { memory, addBackground, work } = background(fetch)
    await work()
    await work({ attempt: 2 })
    expect(fetch).toHaveBeenCalledOnce()
    expect(addBackground).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ message: 1 }), [entry])
    expect(memory.commits).toHaveLength(2)
  })

  test('costs a turn that begins its thread no question to the store, unless the channel fetched some', async () => {
    const fetch = vi.fn<NonNullable<Channel['fetchBackground']>>(async () => [])
    const { memory, work } = background(fetch)
    const readHistory = vi.spyOn(memory.store, 'readHistory')
    await work({ isFirst: true })
    expect(readHistory).not.toHaveBeenCalled()
    fetch.mockResolvedValueOnce([entry])
    await work({ isFirst: true })
    expect(readHistory).toHaveBeenCalledOnce()
    fetch.mockRejectedValueOnce(new Error('half of it may be there'))
    await work({ isFirst: true })
    await work()
    expect(readHistory).toHaveBeenCalledTimes(3)
  })

  test('is done without when it cannot be had', async () => {
    const broken = new Unavailable('No answer')
    const { memory, addBackground, warn, work } = background(() => Promise.reject(broken))
    await work()
    expect(memory.commits[0]?.answer.response).toMatchObject({ parts: [{ content: 'hi' }] })
    expect(addBackground).not.toHaveBeenCalled()
    const fields = { correlation_id: 'c1', err: broken }
    expect(warn).toHaveBeenCalledWith(fields, 'what went before a message cannot be had')
  })
})
