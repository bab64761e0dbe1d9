import type { Json } from '@postern/message'
import { Unavailable, Undeliverable } from '@postern/message'
import type { Agent, AgentAskOptions, AgentCallAnswer, AgentChunk, AgentContext, PeerOptions } from '@postern/pipeline'
import type { AgentMakers } from '@postern/testing'
import { agentContract, agentSecret } from '@postern/testing'
import { describe, expect, test } from 'vitest'
import { openAgentGateway, openTestAgent, testContext, testMessage } from '../../test/gateway.ts'

const address = '@robot@peer.test'
const source = { address, card: 'https://peer.test/card' }
const text = (content: string) => ({ kind: 'text', mime: 'text/plain', content }) as const
const completed = (content: string): AgentCallAnswer => ({ parts: [text(content)], status: 'completed', source })

/** Opens an agent whose context makes calls with `callOf`, because the context of the contract can call nobody. */
function openWith(callOf: (context: AgentContext) => AgentContext['call']): AgentMakers['answers'] {
  return async () => {
    const { agent } = await openTestAgent({ use: 'a2a', address })
    return { agent: { handle: (message, context) => agent.handle(message, { ...context, call: callOf(context) }) } }
  }
}

agentContract('a2a', {
  answers: openWith(() => async () => completed('hello back')),
  staysSilent: openWith(() => async () => ({ parts: [], status: 'completed', source })),
  fails: openWith(() => async () => {
    throw new Undeliverable(agentSecret)
  }),
  hangs: openWith(
    ({ signal }) =>
      () =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        }),
  ),
  refuses: openWith(() => async () => ({
    parts: [{ kind: 'policy', policy: { kind: 'forbidden', message: 'No.' } }],
    status: 'rejected',
    source,
  })),
})

/** Collects all pieces that an agent returns. */
async function listen(agent: Agent, context: AgentContext) {
  const pieces = []
  const chunks = agent.handle(testMessage('hello'), context) as AsyncIterable<AgentChunk>
  for await (const piece of chunks) pieces.push(piece)
  return pieces
}

/** Removes the credentials and the callback from the options of a call, so that only those for the remote agent remain. */
const readOptions = ({ peer: _, onPiece: __, ...options }: AgentAskOptions = {}) => options

describe('an a2a agent', () => {
  async function converse(...answers: AgentCallAnswer[]) {
    const { agent } = await openTestAgent({ use: 'a2a', card: 'https://peer.test/card' })
    const calls: unknown[][] = []
    let storedState: Json | undefined
    const context = testContext({
      state: {
        get: async () => storedState,
        set: value => {
          storedState = value
        },
      },
      call: async (...call) => {
        calls.push(call)
        return answers[calls.length - 1] ?? completed('')
      },
    })
    const chunks = []
    for (const _ of answers) chunks.push(await listen(agent, context))
    return { asked: calls, heard: chunks }
  }

  test('passes on the received text, and answers with its peer’s text', async () => {
    const { asked, heard } = await converse(completed('hi'))
    expect(asked).toEqual([['https://peer.test/card', [text('hello')], expect.anything()]])
    expect(heard).toEqual([[{ parts: [text('hi')], status: 'completed' }]])
  })

  test('answers a question in its own task, and then continues in the same context', async () => {
    const ids = { contextId: 'c-1', taskId: 't-1' }
    const question = { ...completed('which?'), ...ids, status: 'input_required' as const }
    const { asked, heard } = await converse(question, { ...completed('done'), ...ids }, completed('more'))
    expect(heard[0]).toEqual([{ parts: [text('which?')], status: 'input_required' }])
    expect(asked.map(([, , options]) => readOptions(options as AgentAskOptions))).toEqual([
      {},
      ids,
      { contextId: 'c-1' },
    ])
  })

  test('passes on chunks as they come, and the rest at the end', async () => {
    const { agent } = await openTestAgent({ use: 'a2a', address })
    const { promise: isHeard, resolve } = Promise.withResolvers<void>()
    const call: AgentContext['call'] = async (_address, _parts, { onPiece } = {}) => {
      onPiece?.([text('Open ')])
      // The call ends only after its first piece was read.
      await isHeard
      return { ...completed('Open daily'), rest: [text('daily')] }
    }
    const chunks = agent.handle(testMessage('hello'), testContext({ call })) as AsyncIterable<AgentChunk>
    const pieces = []
    for await (const piece of chunks) {
      pieces.push(piece)
      resolve()
    }
    expect(pieces).toEqual([{ parts: [text('Open ')] }, { parts: [text('daily')], status: 'completed' }])
  })

  test('tells its sender that the peer is unreachable, without leaving the turn open for days', async () => {
    const { agent } = await openTestAgent({ use: 'a2a', address })
    const call: AgentContext['call'] = async () => {
      throw new Unavailable('Cannot call agent: it answered with 503')
    }
    const pieces = await listen(agent, testContext({ call }))
    expect(pieces).toEqual([{ status: 'failed', parts: [text(expect.stringMatching(/cannot be reached/))] }])
  })

  test('calls the peer with the operator’s options, and waits until the deadline', async () => {
    const entry = { deadline: '10m', stream: false, api_key: { header: 'X-Key', key: 'secret' } }
    const { agent } = await openTestAgent({ use: 'a2a', address, ...entry })
    let peer: PeerOptions | undefined
    const call: AgentContext['call'] = async (_address, _parts, options) => {
      peer = options?.peer
      return completed('hi')
    }
    await listen(agent, testContext({ call }))
    expect(peer).toMatchObject({ streams: false, api_key: entry.api_key })
    expect(peer?.withinMs).toBeGreaterThan(9 * 60_000)
    expect(peer?.withinMs).toBeLessThan(10 * 60_000)
  })

  test.each([
    [{}, 'agents.subject: needs either "card" or "address"'],
    [{ card: 'https://peer.test/card', address }, 'agents.subject: needs either "card" or "address"'],
    [{ address, token: 't', api_key: { header: 'X-Key', key: 'k' } }, 'agents.subject: needs at most one of "token"'],
    [{ address: 'robot' }, 'agents.subject.address: must be an address such as "@name@agents.example"'],
    [{ card: 'peer' }, 'agents.subject.card'],
  ])('refuses %j', async (members, problem) => {
    await expect(openAgentGateway({ subject: { use: 'a2a', ...members } })).rejects.toThrow(problem)
  })
})
