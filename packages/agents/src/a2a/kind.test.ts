import type { AgentCallAnswer, AgentContext, Json } from '@postern/core'
import { Unavailable, Undeliverable } from '@postern/core'
import type { AgentMakers } from '@postern/testing'
import { agentContract, agentSecret } from '@postern/testing'
import { describe, expect, test } from 'vitest'
import { openAgentGateway, openTestAgent, testContext, testMessage } from '../../test/gateway.ts'

const address = '@robot@peer.test'
const source = { address, card: 'https://peer.test/card' }
const text = (content: string) => ({ kind: 'text', mime: 'text/plain', content }) as const
const completed = (content: string): AgentCallAnswer => ({ parts: [text(content)], status: 'completed', source })

/** The contract's own contexts have nobody to call. */
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
  isUnavailable: openWith(() => async () => {
    throw new Unavailable('Cannot call agent: it answered with 503')
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

describe('an a2a agent', () => {
  async function converse(...answers: AgentCallAnswer[]) {
    const { agent } = await openTestAgent({ use: 'a2a', card: 'https://peer.test/card' })
    const asked: unknown[][] = []
    let kept: Json | undefined
    const context = testContext({
      state: {
        get: async () => kept,
        set: value => {
          kept = value
        },
      },
      call: async (...call) => {
        asked.push(call)
        return answers[asked.length - 1] ?? completed('')
      },
    })
    const heard = []
    for (const _ of answers) heard.push(await agent.handle(testMessage('hello'), context))
    return { asked, heard }
  }

  test('passes on the text that it received, and answers with the text of its peer', async () => {
    const { asked, heard } = await converse(completed('hi'))
    expect(asked).toEqual([['https://peer.test/card', [text('hello')], {}]])
    expect(heard).toEqual([{ parts: [text('hi')], status: 'completed' }])
  })

  test('answers a question in its own task, and goes on in the same context afterwards', async () => {
    const ids = { contextId: 'c-1', taskId: 't-1' }
    const question = { ...completed('which?'), ...ids, status: 'input_required' as const }
    const { asked, heard } = await converse(question, { ...completed('done'), ...ids }, completed('more'))
    expect(heard[0]).toEqual({ parts: [text('which?')], status: 'input_required' })
    expect(asked.map(([, , options]) => options)).toEqual([{}, ids, { contextId: 'c-1' }])
  })

  test.each([
    [{}, 'agents.subject: needs either "card" or "address"'],
    [{ card: 'https://peer.test/card', address }, 'agents.subject: needs either "card" or "address"'],
    [{ address: 'robot' }, 'agents.subject.address: must be an address such as "@name@agents.example"'],
    [{ card: 'peer' }, 'agents.subject.card'],
  ])('refuses %j', async (members, problem) => {
    await expect(openAgentGateway({ subject: { use: 'a2a', ...members } })).rejects.toThrow(problem)
  })
})
