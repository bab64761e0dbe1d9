// Replaces a bad answer of a model, and asks human operators for answers.
import type { System } from '@postern/message'
import type { AnswerRules } from '../answers/answer-faults.ts'
import { findAnswerFault } from '../answers/answer-faults.ts'
import type { SwarmCommits } from '../conversation/commits.ts'
import type { AgentSpec, ModelAnswer, OperatorPort, RescueStrategy, SwarmTexts } from '../spec/swarm.ts'

interface RescueContext {
  readonly agent: AgentSpec
  readonly commits: Pick<SwarmCommits, 'commitRescue'>
  readonly texts: SwarmTexts
  readonly rules: AnswerRules
  readonly lastUserMessage: string
  readonly system: Pick<System, 'randomBytes'>
  /** Asks the model again with the current history. */
  completeAgain(): Promise<ModelAnswer>
}

const strategies: Record<RescueStrategy, (rescue: RescueContext, reason: string) => Promise<ModelAnswer>> = {
  recomplete: ({ completeAgain: ask }) => ask(),
  async custom({ agent, completeAgain: ask }, reason) {
    return await (agent.customRescue?.(reason) ?? ask())
  },
  async flush({ agent: { agentName }, commits, texts, completeAgain: ask, lastUserMessage }, reason) {
    // The rescue cuts the history up to and including the user's message.
    await commits.commitRescue(reason, `${texts.restart}\n\n${lastUserMessage}`, { agentName })
    return await ask()
  },
}

/** Replaces a bad answer by the agent's strategy, or with a polite placeholder if that fails. It never returns the model's first text. */
export async function rescueAnswer(rescue: RescueContext, reason: string): Promise<ModelAnswer> {
  const answer = await strategies[rescue.agent.rescue ?? 'flush'](rescue, reason).catch(() => undefined)
  if (answer && findAnswerFault(answer, rescue.rules) === undefined) return answer
  return { content: pickPlaceholder(rescue) }
}

function pickPlaceholder({ texts: { placeholders }, system }: RescueContext): string {
  const [byte = 0] = system.randomBytes(1)
  return placeholders[byte % placeholders.length] ?? ''
}

const timeoutMarker = Symbol('timed out')

interface OperatorQuestion {
  readonly clientId: string
  readonly message: string
  readonly timeoutText: string
  /** Aborts when the turn is canceled. */
  readonly signal: AbortSignal
}

/** Returns a human's answer, or a replacement text if no answer arrives in time. The operator's signal aborts when the swarm no longer waits. */
export async function askOperator(
  { agentName, operatorTimeoutMs = 90_000 }: AgentSpec,
  operator: OperatorPort,
  { clientId, message, timeoutText, signal: callerSignal }: OperatorQuestion,
  system: Pick<System, 'sleep'>,
): Promise<string> {
  const abortController = new AbortController()
  const signal = AbortSignal.any([abortController.signal, callerSignal])
  try {
    const answer = operator.ask({ clientId, agentName, message, signal })
    const timeout = system.sleep(operatorTimeoutMs, signal).then(() => timeoutMarker)
    const result = await Promise.race([answer, timeout])
    return result === timeoutMarker ? timeoutText : (result as string)
  } finally {
    abortController.abort()
  }
}
