// Calls another agent for a turn, and records the call and its outcome.
import type { System } from '@postern/message'
import {
  checkChainGoesOn,
  invisibleFlag,
  Rejection,
  readVisibleParts,
  TurnAborted,
  toWellFormed,
  Undeliverable,
} from '@postern/message'
import { toParts } from '../../actions/plan-actions.ts'
import type { AgentCallAnswer } from '../../ports/agent/agent-call.ts'
import type { AgentContext } from '../../ports/agent/agent-context.ts'
import { failureCodeOf } from '../../ports/agent/step-recorder.ts'
import type { Turn } from '../../ports/records/work/turn.ts'
import type { TurnContext } from '../../ports/turn/turn-context.ts'
import { withoutRequirements } from '../../requirements/requirements.ts'
import { reportRefusedCall } from '../limits/refused-call.ts'
import { describeNotedCall, readCallAnswer } from '../notes/call-notes.ts'
import type { TurnNotes } from '../notes/turn-notes.ts'
import type { TurnTrace } from '../trace/turn-trace.ts'

type OtherAgentDeps = Pick<
  TurnContext,
  'store' | 'system' | 'findAgent' | 'callAgent' | 'callBudget' | 'presentParts' | 'waitingTurns' | 'traceparentOf'
>

/**
 * Calls another agent for a turn, one hop further. The chain continues that of the message, regardless of the agent's options. It records each call
 * before it is sent, and its outcome.
 * @throws Rejection `forbidden` on the final hop, and if its message has caused too many calls; also as `CallAgent`
 */
export async function callOtherAgent(
  turn: Turn,
  callDeps: OtherAgentDeps,
  { signal, callKey, notes, trace, parent }: TurnCallContext,
  ...[address, content, { broadcast: isBroadcast, agentKey, onBehalfOf, ...options } = {}]: Parameters<
    AgentContext['call']
  >
): Promise<AgentCallAnswer> {
  const { findAgent, callAgent, callBudget, presentParts, waitingTurns: waiting, traceparentOf } = callDeps
  // A turn whose message was edited makes another call.
  const revision = turn.revision ? ` revision ${turn.revision}` : ''
  const retryKey = `${turn.correlationId} ${turn.agent}${revision} ${callKey}`
  if (!callAgent) throw new Undeliverable('Cannot call agent: there is no way to agents elsewhere')
  const parts = toParts(content)
  const chain = turn.content.recipient_capabilities.agent_chain
  const question = toWellFormed(withoutRequirements(parts))
  const credentials = findAgent(turn.agent)?.credentials
  if (onBehalfOf && onBehalfOf.id !== turn.content.id)
    throw new Rejection('malformed', 'Cannot call agent: "onBehalfOf" takes the message of the turn alone')
  const callingTurn = { message: turn.message, isOnBehalf: onBehalfOf !== undefined }
  const notedCall = describeNotedCall(`${callKey}${revision}`, address, question, { isBroadcast, agentKey })
  try {
    checkChainGoesOn(chain)
    callBudget?.consume(turn)
  } catch (error) {
    if (error instanceof Rejection) await reportRefusedCall(turn, notedCall, error, { ...callDeps, notes })
    throw error
  }
  const callEnd = await notes.beginCall(notedCall)
  const step = trace.steps.begin({ kind: 'call', name: address }, parent)
  const traceMember = traceparentOf && { traceparent: traceparentOf(turn, step.number) }
  const callOptions = { ...traceMember, callerName: turn.agent, chain, signal, retryKey, credentials, callingTurn }
  const call = () => callAgent(address, presentParts(question, 'peer'), { ...options, ...callOptions })
  try {
    const rawAnswer = await (waiting ? waiting.trackCall(turn, call) : call())
    const answer = readVisibleAnswer(rawAnswer, { turn, address, log: callDeps.system.log })
    callEnd.recordAnswer(answer)
    step.end(readCallAnswer(answer).error && { failureCode: answer.status })
    return answer
  } catch (error) {
    // An aborted call gets no outcome: either another worker repeats it, or nobody does.
    if (!(signal.reason instanceof TurnAborted)) callEnd.recordFailure(error)
    step.end({ failureCode: failureCodeOf(error) })
    throw error
  }
}

/** Removes invisible characters from the answer of another agent, and tells the operator how many there were. */
function readVisibleAnswer(
  rawAnswer: AgentCallAnswer,
  { turn, address, log }: { readonly turn: Turn; readonly address: string; readonly log: System['log'] },
): AgentCallAnswer {
  const { value: parts, removed } = readVisibleParts(rawAnswer.parts)
  if (removed > 0) {
    const fields = { correlation_id: turn.correlationId, address, flag: invisibleFlag, removed }
    log.warn(fields, 'invisible characters were removed from the answer of another agent')
  }
  return toWellFormed({ ...rawAnswer, parts })
}

interface TurnCallContext {
  readonly signal: AbortSignal
  readonly notes: TurnNotes
  readonly trace: Pick<TurnTrace, 'steps'>
  /** The number of the step that makes the call; absent if the turn itself makes it. */
  readonly parent?: number | undefined
  /** The key that distinguishes the calls of a turn. The same call of a retried turn has the same key. */
  readonly callKey: string
}
