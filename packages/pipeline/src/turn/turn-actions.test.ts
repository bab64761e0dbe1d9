import type { OutgoingAction } from '@postern/message'
import { noLog, Unavailable } from '@postern/message'
import { describe, expect, test, vi } from 'vitest'
import { postAddressing } from '../../test/act-bench.ts'
import { createGate, createQuietSystem, turn } from '../../test/memory-store.ts'
import { channel, expectNeutralFailure, neverAbortedSignal, openTurnBench, receivedAt } from '../../test/turn-bench.ts'
import type { Agent, AgentChunk } from '../ports/agent/agent.ts'
import type { Channel } from '../ports/channel/channel.ts'
import type { ChannelConversations } from '../ports/channel/optional/channel-conversations.ts'
import type { PlannedAction } from '../ports/records/work/answer.ts'
import type { Turn } from '../ports/records/work/turn.ts'
import { runTurn } from './turn.ts'

/** Opens a bench whose channel can revise answers and perform all actions. */
function openActionBench(handle: Agent['handle'], members: { now?: () => number; deadlineMs?: number } = {}) {
  const { now = () => receivedAt, ...rest } = members
  const actions: OutgoingAction[] = []
  const actingChannel: Partial<Channel> = {
    ...channel,
    address: answered => ({ ...channel.address(answered), rendering: { first: true } }),
    actions: {
      address(action) {
        actions.push(action)
        return postAddressing
      },
    },
  }
  const system = createQuietSystem({ now, randomBytes: randomBytesInOrder() })
  const bench = openTurnBench(handle, { system, channels: [actingChannel as Channel], ...rest })
  vi.spyOn(bench.memory.store, 'readHistory').mockResolvedValue([])
  Object.assign(bench.memory.store, {
    findResponse: async () => undefined,
    findMessageTo: async () => ({ message: 1, via: 'activitypub', target: null }),
  })
  const work = (token = 1, overrides: Partial<Turn> = {}) =>
    runTurn({ ...turn(1), token, ...overrides }, bench.turnContext, neverAbortedSignal)
  return { ...bench, actions, work }
}

function randomBytesInOrder(): (count: number) => Uint8Array {
  let callCount = 0
  return count => new Uint8Array(count).fill(++callCount)
}

function interimText(content: string): AgentChunk {
  return { status: 'working', parts: [{ kind: 'text', mime: 'text/markdown', content }] }
}

function kindsOf(acts: readonly PlannedAction[] | undefined): readonly string[] {
  return (acts ?? []).map(({ kind }) => kind)
}

describe('an agent’s interim text', () => {
  test('leaves at once, and the answer replaces it under the same id', async () => {
    const { memory, actions, work } = openActionBench(async function* () {
      yield interimText('looking')
      expect(memory.interimAnswers).toHaveLength(1)
      yield 'found'
    })
    await work()
    const [interimAnswer] = memory.interimAnswers
    const [committed] = memory.commits
    expect(interimAnswer?.answer).toMatchObject({
      rendering: { first: true },
      deliveries: [{ to: 'https://peer.test/inbox' }],
    })
    expect(interimAnswer?.answer.isRevision).toBeUndefined()
    expect(interimAnswer?.answer.withdrawal).toMatchObject({ deliveries: postAddressing.deliveries })
    expect(committed?.answer.withdrawal).toBeUndefined()
    expect(interimAnswer?.answer.response).toMatchObject({ status: 'working', parts: [{ content: 'looking' }] })
    expect(committed?.answer).toMatchObject({ isRevision: true, broadcasts: postAddressing.broadcasts })
    const { id, created_at } = interimAnswer?.answer.response ?? {}
    expect(committed?.answer.response).toMatchObject({
      id,
      created_at,
      status: 'completed',
      parts: [{ content: 'found' }],
    })
    expect(actions).toMatchObject([
      { act: 'delete', rendering: { first: true }, response: { parts: [{ content: 'looking' }] } },
      { act: 'edit', rendering: { first: true }, response: { parts: [{ content: 'found' }] } },
    ])
  })

  test('leaves at most every three seconds', async () => {
    let now = receivedAt
    const { memory, actions, work } = openActionBench(
      async function* () {
        for (let second = 0; second <= 6; second++) {
          yield interimText(`${second} s`)
          now += 1_000
        }
        yield 'done'
      },
      { now: () => now },
    )
    await work()
    const said = memory.interimAnswers.map(({ answer }) => answer.response.parts)
    expect(said).toMatchObject([[{ content: '0 s' }], [{ content: '3 s' }], [{ content: '6 s' }]])
    expect(memory.interimAnswers.map(({ answer }) => answer.isRevision)).toEqual([undefined, true, true])
    const revisions = [...memory.interimAnswers, ...memory.commits].map(({ answer }) => answer.response?.created_at)
    expect(new Set(revisions)).toEqual(new Set([new Date(receivedAt).toISOString()]))
    const edits = actions.filter(({ act }) => act === 'edit')
    expect(edits.map(action => 'rendering' in action && action.rendering)).toEqual(Array(3).fill({ first: true }))
  })

  test('reaches only live watchers if the channel cannot withdraw it', async () => {
    const { memory, turnContext } = openTurnBench(async function* () {
      yield interimText('looking')
      yield 'found'
    })
    const onNotice = vi.fn()
    memory.store.listen('message:1', onNotice)
    await runTurn(turn(1), turnContext, neverAbortedSignal)
    expect(memory.interimAnswers).toEqual([])
    expect(onNotice).toHaveBeenCalledTimes(2)
    expect(memory.commits[0]?.answer.isRevision).toBeUndefined()
  })

  test('ends with the failure of the agent', async () => {
    const { memory, work } = openActionBench(async function* () {
      yield interimText('looking')
      throw new Error('broken')
    })
    await work()
    expectNeutralFailure(memory.commits[0]?.answer)
    expect(memory.commits[0]?.answer).toMatchObject({ isRevision: true, error: 'broken' })
    expect(memory.commits[0]?.answer.response?.id).toBe(memory.interimAnswers[0]?.answer.response.id)
  })

  test('ends with a failure at the deadline', async () => {
    const { memory, work } = openActionBench(
      async function* () {
        yield interimText('looking')
        await createGate().opened
      },
      { deadlineMs: 20 },
    )
    await work()
    expectNeutralFailure(memory.commits[0]?.answer)
    expect(memory.commits[0]?.answer.isRevision).toBe(true)
  })

  test('ends with a failure if the store refuses the answer', async () => {
    const { memory, work } = openActionBench(async function* () {
      yield interimText('looking')
      yield 'found'
    })
    vi.spyOn(memory.store, 'commit').mockRejectedValueOnce(new TypeError('not JSON'))
    await work()
    expect(memory.commits).toMatchObject([{ answer: { isRevision: true, error: 'the answer cannot be stored' } }])
    expect(memory.commits[0]?.answer.response?.id).toBe(memory.interimAnswers[0]?.answer.response.id)
  })

  test('ends with a failure if a dependency does not answer for too long', async () => {
    const { memory, work } = openActionBench(async function* () {
      yield interimText('looking')
      throw new Unavailable('No answer')
    })
    await work(1, { firstAttemptAt: receivedAt - 3_600_000 })
    expect(memory.commits).toMatchObject([{ answer: { isRevision: true, error: 'No answer' } }])
  })

  test('changes under the same id when another process takes over the turn', async () => {
    const { memory, work } = openActionBench(async function* () {
      yield interimText('looking')
      throw new Unavailable('No answer')
    })
    await work()
    expect(memory.releases).toHaveLength(1)
    await work(2)
    const ids = memory.interimAnswers.map(({ answer }) => answer.response.id)
    expect(new Set(ids).size).toBe(1)
    expect(memory.interimAnswers.map(({ answer }) => answer.isRevision)).toEqual([undefined, true])
  })
})

describe('an agent’s action', () => {
  test('commits together with its answer', async () => {
    let id = ''
    const { memory, work } = openActionBench((_message, context) => {
      id = String(context.post('news'))
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
      'done by a silent agent',
      (_message, context) => {
        context.react('like')
        return undefined
      },
    ],
  ])('is not an answer by itself if it is %s', async (_how, handle) => {
    const { memory, work } = openActionBench(handle)
    await work()
    const [committed] = memory.commits
    expect(committed?.answer.response).toBeUndefined()
    expect(committed?.answer.error).toBeUndefined()
    expect(committed?.answer.deliveries).toEqual([])
    expect(kindsOf(committed?.answer.acts)).toEqual(['react'])
  })

  test('also commits if it comes with interim text', async () => {
    const { memory, work } = openActionBench(async function* () {
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
      'throws in its stream',
      async function* (_message, context) {
        context.post('news')
        yield { acts: [{ act: 'like' }] }
        throw new Error('broken')
      },
    ],
    [
      'returns a malformed part',
      (_message, context) => {
        context.post('news')
        return { parts: [{ kind: 'text' }] } as never
      },
    ],
  ])('does not happen if the agent %s', async (_how, handle) => {
    const { memory, work } = openActionBench(handle)
    await work()
    expectNeutralFailure(memory.commits[0]?.answer)
    expect(memory.commits[0]?.answer.acts).toBeUndefined()
  })

  test('does not hold back the answer if it fails', async () => {
    const { memory, work } = openActionBench((_message, context) => {
      context.delete('unknown')
      return 'done'
    })
    await work()
    expect(memory.commits[0]?.answer.response).toMatchObject({ parts: [{ content: 'done' }] })
    expect(memory.commits[0]?.answer.acts).toBeUndefined()
  })

  test('returns a readable refusal if it is impossible, and the turn records it', async () => {
    const refusals: unknown[] = []
    const { memory, work } = openActionBench(async (_message, context) => {
      refusals.push(
        context.post('news', { via: 'sms' }),
        await context.edit('unknown', 'new'),
        await context.delete('unknown'),
        await context.react('like'),
      )
      return { acts: [{ act: 'post', parts: [{ kind: 'text', mime: 'text/plain', content: 'x' }], via: 'sms' }] }
    })
    await work()
    const expectedRefusals = [
      { code: 'unsupported', message: expect.stringMatching(/^Cannot post by sms: there is no such channel/) },
      { code: 'no_recipient', message: expect.stringMatching(/^Cannot edit "unknown": this agent has no answer/) },
      { code: 'no_recipient', message: expect.stringMatching(/^Cannot delete "unknown": this agent has no answer/) },
    ]
    expect(refusals).toMatchObject([...expectedRefusals.map(each => ({ refused: true, ...each })), undefined])
    // An agent that puts the refusal into its text shows the reason.
    expect(`${refusals[0]}`).toMatch(/^Cannot post by sms/)
    expect(kindsOf(memory.commits[0]?.answer.acts)).toEqual(['react'])
    const acts = ['post', 'edit', 'delete', 'post']
    expect(memory.commits[0]?.answer.attempt?.refused_acts).toMatchObject(
      acts.map((act, at) => ({ act, ...expectedRefusals[at % expectedRefusals.length] })),
    )
  })
})

describe('the earlier messages of a thread', () => {
  const openBackgroundBench = (fetchBackground: ChannelConversations['fetchBackground']) => {
    const warn = vi.fn()
    const { memory, turnContext } = openTurnBench(() => 'hi', {
      channels: [{ ...channel, ...(fetchBackground && { conversations: { fetchBackground } }) } as Channel],
      system: createQuietSystem({ now: () => receivedAt, log: { ...noLog, warn } }),
    })
    const addBackground = vi.fn(async () => {})
    Object.assign(memory.store, { addBackground })
    const work = (members = {}) => runTurn({ ...turn(1), ...members }, turnContext, neverAbortedSignal)
    return { memory, addBackground, warn, work }
  }
  const entry = { nativeId: 'n1', author: { address: '@a@b.test' }, parts: [], at: '2026-01-01T00:00:00.000Z' }

  test('arrive in one fetch, before the gateway calls the agent', async () => {
    const fetch = vi.fn(async () => [entry])
    const { memory, addBackground, work } = openBackgroundBench(fetch)
    await work()
    await work({ attempt: 2 })
    expect(fetch).toHaveBeenCalledOnce()
    expect(addBackground).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ message: 1 }), [entry])
    expect(memory.commits).toHaveLength(2)
  })

  test('have a mark only in the text of a quoted post', async () => {
    const text = { kind: 'text', mime: 'text/plain', content: 'Pay.' } as const
    const posts = [
      { ...entry, parts: [text] },
      { ...entry, parts: [text], isQuoted: true },
    ]
    const { addBackground, work } = openBackgroundBench(async () => posts)
    await work()
    const [plainPost, quotedPost] = posts
    const markedPost = { ...quotedPost, parts: [{ ...text, quoted: true }] }
    expect(addBackground).toHaveBeenCalledExactlyOnceWith(expect.anything(), [plainPost, markedPost])
  })

  test('lose invisible characters, which the log counts', async () => {
    const posts = [{ ...entry, parts: [{ kind: 'text' as const, mime: 'text/plain' as const, content: 'Pa\u200by' }] }]
    const { addBackground, warn, work } = openBackgroundBench(async () => posts)
    await work()
    const visibleEntry = { ...entry, parts: [{ kind: 'text', mime: 'text/plain', content: 'Pay' }] }
    expect(addBackground).toHaveBeenCalledExactlyOnceWith(expect.anything(), [visibleEntry])
    expect(warn.mock.calls[0]?.[0]).toMatchObject({ flag: 'invisible_characters', removed: 1 })
  })

  test('cause a query in a turn that begins its thread only if the channel fetched some', async () => {
    const fetch = vi.fn<NonNullable<ChannelConversations['fetchBackground']>>(async () => [])
    const { memory, work } = openBackgroundBench(fetch)
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

  test('are absent if the gateway cannot fetch them', async () => {
    const fetchError = new Unavailable('No answer')
    const { memory, addBackground, warn, work } = openBackgroundBench(() => Promise.reject(fetchError))
    await work()
    expect(memory.commits[0]?.answer.response).toMatchObject({ parts: [{ content: 'hi' }] })
    expect(addBackground).not.toHaveBeenCalled()
    const fields = { correlation_id: 'c1', err: fetchError }
    expect(warn).toHaveBeenCalledWith(fields, 'the entries before a message cannot be fetched')
  })
})

describe('the mentions of an answer', () => {
  test('are empty if the limit is zero', async () => {
    const { memory, turnContext } = openTurnBench(
      () => ({
        parts: [{ kind: 'text', mime: 'text/markdown', content: 'Ask @bob@peer.test' }],
        mentions: ['@bob@peer.test'],
      }),
      {
        fanout: { maxMentions: 0, concurrency: 1, timeoutMs: 1_000 },
      },
    )
    await runTurn(turn(1), turnContext, neverAbortedSignal)
    expect(memory.commits[0]?.answer.response).toMatchObject({ mentions: [], text_mentions: [] })
  })

  test('include a name in the text if its owner has written in the conversation', async () => {
    const { memory, turnContext } = openTurnBench(() => 'Ask @bob@peer.test or @eve@peer.test')
    const author = { address: '@bob@peer.test', verified: true }
    vi.spyOn(memory.store, 'readHistory').mockResolvedValue([
      { seq: 1, entryId: 'e', role: 'user', author, parts: [], at: '' },
    ])
    await runTurn(turn(1), turnContext, neverAbortedSignal)
    expect(memory.commits[0]?.answer.response?.text_mentions).toEqual(['@bob@peer.test'])
  })

  test('come only from `mentions` in a post of the agent, and not from its text', async () => {
    const { actions, work } = openActionBench((_, context) => {
      context.post('Hello @bob@peer.test', { mentions: ['@ann@peer.test'] })
      return undefined
    })
    await work()
    expect(actions).toMatchObject([{ response: { mentions: ['@ann@peer.test'], text_mentions: [] } }])
  })
})
