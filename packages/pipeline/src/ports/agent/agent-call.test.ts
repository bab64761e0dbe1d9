import { describe, expect, test, vi } from 'vitest'
import { turn } from '../../../test/memory-store.ts'
import { answerTo, expectNeutral, openBench, running } from '../../../test/turn-bench.ts'
import { workTurn } from '../../turn/turn.ts'
import type { AgentCallAnswer, CallAgent } from './agent-call.ts'

const answer: AgentCallAnswer = {
  parts: [{ kind: 'text', mime: 'text/plain', content: 'theirs' }],
  status: 'completed',
  source: { address: '@robot@peer.test', card: 'https://peer.test/card' },
}

describe('an agent that calls another', () => {
  test('gets its answer, and the call carries the caller and the message’s chain', async () => {
    const callAgent = vi.fn<CallAgent>(async () => answer)
    const answers: AgentCallAnswer[] = []
    const { turnContext } = openBench(
      async (_message, context) => {
        answers.push(await context.call('@robot@peer.test', 'hello', { contextId: 'c-1', taskId: 't-1' }))
        return 'done'
      },
      { callAgent },
    )
    const agent_chain = { hop: 2, max_hops: 5, is_final: false }
    const asked = turn(1)
    const recipient_capabilities = { ...asked.content.recipient_capabilities, agent_chain }
    await workTurn({ ...asked, content: { ...asked.content, recipient_capabilities } }, turnContext, running)
    expect(answers).toEqual([answer])
    const [address, parts, options] = callAgent.mock.calls[0] ?? []
    expect([address, parts]).toEqual(['@robot@peer.test', [{ kind: 'text', mime: 'text/markdown', content: 'hello' }]])
    expect(options).toEqual({
      as: 'echo',
      chain: agent_chain,
      contextId: 'c-1',
      taskId: 't-1',
      retryKey: 'c1 echo 1',
      calledBy: { message: 1, isOnBehalf: false },
      signal: expect.any(AbortSignal),
    })
  })

  test('cannot claim another agent’s name, or the beginning of a chain', async () => {
    const callAgent = vi.fn<CallAgent>(async () => answer)
    const forged = { as: 'somebody', chain: undefined } as object
    await answerTo(
      async (_message, context) => {
        await context.call('@robot@peer.test', 'hello', forged)
        return 'done'
      },
      { callAgent },
    )
    expect(callAgent.mock.calls[0]?.[2]).toMatchObject({ as: 'echo' })
  })

  test('gets the usual error if the gateway cannot call remote agents', async () => {
    expectNeutral(
      await answerTo(async (_message, context) => {
        await context.call('@robot@peer.test', 'hello')
        return 'done'
      }),
    )
  })
})
