// Runs one turn of a swarm, with model calls, tools and hand-overs until there is an answer.
import { Rejection } from '@postern/message'
import type { ExecutionMode, JsonMap, SwarmImage, SwarmToolCall } from '@postern/transcript'
import type { AnswerRules } from '../answers/answer-faults.ts'
import { findAnswerFault } from '../answers/answer-faults.ts'
import type { AnswerStream } from '../answers/stream.ts'
import type { SwarmCommits } from '../conversation/commits.ts'
import type { SwarmHistory } from '../conversation/history.ts'
import type { SwarmNavigation } from '../conversation/navigation.ts'
import type { SwarmData } from '../data/swarm-data.ts'
import type {
  AgentSpec,
  ModelAnswer,
  SwarmDeps,
  SwarmSpec,
  SwarmTexts,
  SwarmTool,
  SwarmToolContext,
} from '../spec/swarm.ts'
import { defaultAnswerChecks } from '../spec/swarm.ts'
import { askOperator, rescueAnswer } from './rescue.ts'

/** The maximum number of model calls in one turn, including those after hand-overs and tools. */
const maxExecutions = 20

export interface TurnDeps {
  readonly spec: SwarmSpec
  readonly deps: SwarmDeps
  readonly clientId: string
  readonly history: SwarmHistory
  readonly navigation: SwarmNavigation
  /** The commits of the agents themselves. */
  readonly commits: SwarmCommits
  /** The commits of the agents' tools. */
  readonly outerCommits: SwarmCommits
  readonly data: SwarmData
  readonly texts: SwarmTexts
  /** The state of the running turn's calls. `areStopped` is true if the remaining ones are skipped. */
  readonly calls: { areStopped: boolean }
}

export interface TurnRequest {
  readonly message: string
  readonly mode: ExecutionMode
  readonly payload?: JsonMap | null | undefined
  readonly images?: readonly SwarmImage[] | undefined
  readonly isStored?: boolean | undefined
  /** The stream that gets the text while the model writes it. */
  readonly answerStream?: AnswerStream | undefined
}

/** The result of a step, which is an answer or the message of another step. */
type Step = { readonly answer: string } | { readonly next: string | undefined }

/**
 * Runs one turn. The active agent answers, its tools run and agents hand over until there is an answer. The answer is not stored in the history.
 * Returns `undefined` after a cancel.
 */
export async function runSwarmTurn(
  turn: TurnDeps,
  request: TurnRequest,
  signal: AbortSignal,
): Promise<string | undefined> {
  const lastUserMessage = request.message
  let turnRequest: TurnRequest | undefined = request
  for (let count = 0; count < maxExecutions && !signal.aborted; count += 1) {
    const agent = findActiveAgent(turn)
    if (turnRequest) await commitUserMessage(turn, agent, turnRequest)
    const message = turnRequest?.message ?? lastUserMessage
    const step = await runStep(turn, { agent, lastUserMessage, message, signal, answerStream: request.answerStream })
    if (signal.aborted) return undefined
    if ('answer' in step) return step.answer
    turnRequest = step.next === undefined ? undefined : { message: step.next, mode: 'tool' }
  }
  return signal.aborted ? undefined : turn.texts.placeholders[0]
}

export function findActiveAgent({ spec, navigation }: Pick<TurnDeps, 'spec' | 'navigation'>): AgentSpec {
  const agent = spec.agents.find(({ agentName }) => agentName === navigation.active)
  if (!agent) throw new TypeError('the active agent does not belong to the swarm')
  return agent
}

async function commitUserMessage(
  { commits }: TurnDeps,
  { agentName }: AgentSpec,
  turnRequest: TurnRequest,
): Promise<void> {
  const { message, mode, payload, images, isStored } = turnRequest
  await commits.commitUserMessage(message, mode, {
    agentName,
    isStored,
    ...(payload !== undefined && { payload }),
    ...(images && { images }),
  })
}

interface Attempt {
  readonly agent: AgentSpec
  readonly message: string
  readonly lastUserMessage: string
  readonly signal: AbortSignal
  readonly answerStream: AnswerStream | undefined
}

async function runStep(turn: TurnDeps, attempt: Attempt): Promise<Step> {
  const { agent, message, signal } = attempt
  const { deps, clientId, texts } = turn
  if (agent.operator) {
    const question = { clientId, message, timeoutText: texts.operatorTimeout, signal }
    return { answer: await askOperator(agent, agent.operator, question, deps.system) }
  }
  const answer = await completeAnswer(turn, attempt)
  // Another call has changed the agent in the meantime. The new agent continues, and this answer is ignored.
  if (turn.navigation.active !== agent.agentName) return { next: undefined }
  if (signal.aborted || !answer.tool_calls || answer.tool_calls.length === 0) return { answer: answer.content }
  return await runTools(turn, attempt, answer)
}

async function completeAnswer(turn: TurnDeps, attempt: Attempt): Promise<ModelAnswer> {
  const { agent, signal, lastUserMessage, answerStream } = attempt
  const { commits, texts, deps, spec } = turn
  const toolNames = new Set(agent.tools?.map(({ name }) => name))
  const rules: AnswerRules = { checks: spec.answerChecks ?? defaultAnswerChecks, toolNames }
  const streamedCheck = answerStream?.begin(rules)
  const ask = (onPiece?: (piece: string) => void) => completeOnce(turn, agent, onPiece)
  // The user gets no text after a cancel.
  const answer = await ask(streamedCheck && (piece => !signal.aborted && streamedCheck.add(piece)))
  const fault = findAnswerFault(answer, rules)
  if (fault === undefined || signal.aborted) return answer
  return await rescueAnswer(
    { agent, commits, texts, rules, lastUserMessage, system: deps.system, completeAgain: ask },
    fault,
  )
}

async function completeOnce(
  { history, spec }: TurnDeps,
  agent: AgentSpec,
  onPiece?: (piece: string) => void,
): Promise<ModelAnswer> {
  const { tools = [], model } = agent
  const descriptions = tools.map(({ name, description, parameters }) => ({ name, description, parameters }))
  const rows = await history.listForAgent(agent, spec.commonPrompts ?? [])
  const answer = await model.complete(rows, descriptions, onPiece)
  refuseRepeatedIds(answer.tool_calls ?? [])
  return answer
}

/** Refuses repeated ids, because a result could not be matched to its call. No part of such an answer is stored. @throws Rejection malformed */
function refuseRepeatedIds(calls: readonly SwarmToolCall[]): void {
  if (new Set(calls.map(({ id }) => id)).size === calls.length) return
  throw new Rejection('malformed', 'Cannot run tools: two calls of one answer have one id')
}

/** Runs an answer's calls in order, up to the agent's limit. Only the first tool that hands over runs. */
async function runTools(turn: TurnDeps, attempt: Attempt, answer: ModelAnswer): Promise<Step> {
  const { agent } = attempt
  const calls = (answer.tool_calls ?? []).slice(0, agent.maxToolCalls ?? 1)
  await turn.commits.commitToolCalls(answer.content, calls, { agentName: agent.agentName })
  const work: ToolWork = { turn, attempt, answer: undefined, next: undefined }
  turn.calls.areStopped = false
  for (const call of calls) {
    // A hand-over ends the calls.
    const isOver = turn.calls.areStopped || turn.navigation.active !== agent.agentName
    if (isOver || attempt.signal.aborted) break
    await runTool(work, call)
  }
  return work.answer === undefined ? { next: work.next } : { answer: work.answer }
}

interface ToolWork {
  readonly turn: TurnDeps
  readonly attempt: Attempt
  answer: string | undefined
  next: string | undefined
}

async function runTool(work: ToolWork, call: SwarmToolCall): Promise<void> {
  const { turn, attempt } = work
  const { agentName, tools = [] } = attempt.agent
  const tool = tools.find(({ name }) => name === call.function.name) as SwarmTool
  let hasOutput = false
  const context: SwarmToolContext = {
    ...buildToolContext(work, call),
    async commitToolOutput(content) {
      if (hasOutput) throw new Rejection('replayed', 'Cannot commit tool output: the call has ended already')
      hasOutput = true
      await turn.outerCommits.commitToolOutput(call.id, content, { agentName })
    },
  }
  try {
    await tool.call(context)
  } catch (cause) {
    turn.deps.system.log.warn({ cause, tool: tool.name }, 'a tool of the swarm failed')
  }
  // A call without a result would be hidden from the model, which would repeat the call.
  if (!hasOutput) await turn.commits.commitToolOutput(call.id, 'The tool failed.', { agentName, isForced: true })
  if (tool.isNavigation) turn.calls.areStopped = true
}

function buildToolContext(work: ToolWork, call: SwarmToolCall): Omit<SwarmToolContext, 'commitToolOutput'> {
  const { turn, attempt } = work
  const { agentName } = attempt.agent
  // A hand-over in a canceled turn would change the agent of the next turn.
  const change = async (navigate: (navigation: SwarmNavigation) => Promise<boolean>) =>
    !attempt.signal.aborted && (await navigate(turn.navigation))
  return {
    clientId: turn.clientId,
    agentName,
    toolId: call.id,
    params: call.function.arguments,
    lastUserMessage: attempt.lastUserMessage,
    data: turn.data,
    async commitStopTools() {
      await turn.outerCommits.commitStopTools({ agentName })
    },
    async commitFlush() {
      await turn.outerCommits.commitFlush({ agentName })
    },
    changeToAgent: name => change(navigation => navigation.changeToAgent(name)),
    changeToDefault: () => change(navigation => navigation.changeToDefault()),
    changeToPrevious: () => change(navigation => navigation.changeToPrevious()),
    execute(message) {
      work.next = message
    },
    emit(content) {
      work.answer = content
    },
  }
}
