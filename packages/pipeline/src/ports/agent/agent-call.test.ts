import { describe, expect, test, vi } from 'vitest'
import { turn } from '../../../test/memory-store.ts'
import { expectNeutralFailure, neverAbortedSignal, openTurnBench, runTurnOf } from '../../../test/turn-bench.ts'
import { runTurn } from '../../turn/turn.ts'
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
    const { turnContext } = openTurnBench(
      async (_message, context) => {
        answers.push(await context.call('@robot@peer.test', 'hello', { contextId: 'c-1', taskId: 't-1' }))
        return 'done'
      },
      { callAgent },
    )
    const agent_chain = { hop: 2, max_hops: 5, is_final: false }
    const firstTurn = turn(1)
    const recipient_capabilities = { ...firstTurn.content.recipient_capabilities, agent_chain }
    await runTurn(
      { ...firstTurn, content: { ...firstTurn.content, recipient_capabilities } },
      turnContext,
      neverAbortedSignal,
    )
    expect(answers).toEqual([answer])
    const [address, parts, options] = callAgent.mock.calls[0] ?? []
    expect([address, parts]).toEqual(['@robot@peer.test', [{ kind: 'text', mime: 'text/markdown', content: 'hello' }]])
    expect(options).toEqual({
      callerName: 'echo',
      chain: agent_chain,
      contextId: 'c-1',
      taskId: 't-1',
      retryKey: 'c1 echo 1',
      callingTurn: { message: 1, isOnBehalf: false },
      signal: expect.any(AbortSignal),
    })
  })

  test('cannot claim another agent’s name, or the beginning of a chain', async () => {
    const callAgent = vi.fn<CallAgent>(async () => answer)
    const forgedOptions = { callerName: 'somebody', chain: undefined } as object
    await runTurnOf(
      async (_message, context) => {
        await context.call('@robot@peer.test', 'hello', forgedOptions)
        return 'done'
      },
      { callAgent },
    )
    expect(callAgent.mock.calls[0]?.[2]).toMatchObject({ callerName: 'echo' })
  })

  test('gets the usual error if the gateway cannot call remote agents', async () => {
    expectNeutralFailure(
      await runTurnOf(async (_message, context) => {
        await context.call('@robot@peer.test', 'hello')
        return 'done'
      }),
    )
  })
})
