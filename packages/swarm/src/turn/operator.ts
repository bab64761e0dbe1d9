import type { Platform } from '@postern/core'
import type { AgentSpec, OperatorPort } from '../spec/agent.ts'

const timedOut = Symbol('timed out')

interface OperatorQuestion {
  readonly clientId: string
  readonly message: string
  readonly timeoutText: string
  /** The turn was canceled. */
  readonly signal: AbortSignal
}

/** A human's answer, or the text for when none comes in time. The operator's signal aborts when nobody waits any more. */
export async function askOperator(
  { agentName, operatorTimeoutMs = 90_000 }: AgentSpec,
  operator: OperatorPort,
  { clientId, message, timeoutText, signal: given }: OperatorQuestion,
  platform: Pick<Platform, 'sleep'>,
): Promise<string> {
  const over = new AbortController()
  const signal = AbortSignal.any([over.signal, given])
  try {
    const answer = operator.ask({ clientId, agentName, message, signal })
    const timeout = platform.sleep(operatorTimeoutMs, signal).then(() => timedOut)
    const first = await Promise.race([answer, timeout])
    return first === timedOut ? timeoutText : (first as string)
  } finally {
    over.abort()
  }
}
