import { Rejection } from '@postern/core'
import type { JsonMap } from '../json-difference.ts'
import type { SwarmCommits } from './swarm-commits.ts'
import type { SwarmHistory } from './swarm-history.ts'
import type { ExecutionMode, SwarmToolCall } from './swarm-message.ts'
import type { SwarmNavigation } from './swarm-navigation.ts'
import { askOperator } from './swarm-operator.ts'
import { findAnswerFault, rescueAnswer } from './swarm-rescue.ts'
import type { AgentSpec, ModelAnswer, SwarmDeps, SwarmSpec, SwarmTexts, SwarmTool, ToolContext } from './swarm-spec.ts'

/** Executions one turn may lead to, hand-overs and tools together. */
const maxExecutions = 20

export interface TurnDeps {
  readonly spec: SwarmSpec
  readonly deps: SwarmDeps
  readonly clientId: string
  readonly history: SwarmHistory
  readonly navigation: SwarmNavigation
  readonly commits: SwarmCommits
  readonly texts: SwarmTexts
}

export interface TurnRequest {
  readonly message: string
  readonly mode: ExecutionMode
  readonly payload?: JsonMap | null | undefined
  readonly images?: readonly string[] | undefined
  readonly isStored?: boolean | undefined
}

/** What a step of a turn leads to: an answer, or another step. */
type Step = { readonly answer: string } | { readonly next: string | undefined }

/**
 * One turn: the active agent answers, its tools run, agents hand over, until there is an answer; it is not in the history yet.
 * `undefined` when the turn was given up meanwhile.
 */
export async function runSwarmTurn(
  turn: TurnDeps,
  request: TurnRequest,
  signal: AbortSignal,
): Promise<string | undefined> {
  const lastUserMessage = request.message
  let said: TurnRequest | undefined = request
  for (let count = 0; count < maxExecutions && !signal.aborted; count += 1) {
    const agent = findActiveAgent(turn)
    if (said) await commitSaid(turn, agent, said)
    const step = await answerOnce(turn, { agent, lastUserMessage, message: said?.message ?? lastUserMessage, signal })
    if (signal.aborted) return undefined
    if ('answer' in step) return step.answer
    said = step.next === undefined ? undefined : { message: step.next, mode: 'tool' }
  }
  return signal.aborted ? undefined : turn.texts.placeholders[0]
}

export function findActiveAgent({ spec, navigation }: Pick<TurnDeps, 'spec' | 'navigation'>): AgentSpec {
  const agent = spec.agents.find(({ agentName }) => agentName === navigation.active)
  if (!agent) throw new TypeError('the active agent is one of the swarm')
  return agent
}

async function commitSaid({ commits }: TurnDeps, { agentName }: AgentSpec, said: TurnRequest): Promise<void> {
  const { message, mode, payload, images, isStored } = said
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
}

async function answerOnce(turn: TurnDeps, attempt: Attempt): Promise<Step> {
  const { agent, message, signal } = attempt
  const { deps, clientId, texts } = turn
  if (agent.operator) {
    const question = { clientId, message, timeoutText: texts.operatorTimeout, signal }
    return { answer: await askOperator(agent, agent.operator, question, deps.world) }
  }
  const answer = await askModel(turn, attempt)
  // Somebody changed the agent meanwhile: this answer is not of the one who speaks now, who goes on instead.
  if (turn.navigation.active !== agent.agentName) return { next: undefined }
  if (signal.aborted || !answer.tool_calls || answer.tool_calls.length === 0) return { answer: answer.content }
  return await runTools(turn, attempt, answer)
}

async function askModel(turn: TurnDeps, { agent, signal, lastUserMessage }: Attempt): Promise<ModelAnswer> {
  const { tools = [], model } = agent
  const descriptions = tools.map(({ name, description, parameters }) => ({ name, description, parameters }))
  const ask = async () => {
    const answer = await model.complete(
      await turn.history.listForAgent(agent, turn.spec.commonPrompts ?? []),
      descriptions,
    )
    refuseTwins(answer.tool_calls ?? [])
    return answer
  }
  const answer = await ask()
  const toolNames = new Set(tools.map(({ name }) => name))
  const fault = findAnswerFault(answer, toolNames)
  if (fault === undefined || signal.aborted) return answer
  const { commits, texts, deps } = turn
  return await rescueAnswer({ agent, commits, texts, toolNames, lastUserMessage, world: deps.world, ask }, fault)
}

/** @throws Rejection malformed: which result belongs to which call could not be told. Nothing of the answer is stored then */
function refuseTwins(calls: readonly SwarmToolCall[]): void {
  if (new Set(calls.map(({ id }) => id)).size === calls.length) return
  throw new Rejection('malformed', 'Cannot run tools: two calls of one answer have one id')
}

/** Runs an answer's calls, in order, as many as the agent may; of tools that hand over the first alone. */
async function runTools(turn: TurnDeps, attempt: Attempt, answer: ModelAnswer): Promise<Step> {
  const { agent } = attempt
  const calls = (answer.tool_calls ?? []).slice(0, agent.maxToolCalls ?? 1)
  await turn.commits.commitToolCalls(answer.content, calls, { agentName: agent.agentName })
  const work: ToolWork = { turn, attempt, isStopped: false, answer: undefined, next: undefined }
  for (const call of calls) {
    if (work.isStopped || attempt.signal.aborted) break
    await runTool(work, call)
  }
  return work.answer === undefined ? { next: work.next } : { answer: work.answer }
}

interface ToolWork {
  readonly turn: TurnDeps
  readonly attempt: Attempt
  isStopped: boolean
  answer: string | undefined
  next: string | undefined
}

async function runTool(work: ToolWork, call: SwarmToolCall): Promise<void> {
  const { turn, attempt } = work
  const { agentName, tools = [] } = attempt.agent
  const tool = tools.find(({ name }) => name === call.function.name) as SwarmTool
  let hasOutput = false
  const context: ToolContext = {
    ...buildToolContext(work, call),
    async commitToolOutput(content) {
      if (hasOutput) throw new Rejection('replayed', 'Cannot commit tool output: the call has ended already')
      hasOutput = true
      await turn.commits.commitToolOutput(call.id, content, { agentName })
    },
  }
  try {
    await tool.call(context)
  } catch (cause) {
    turn.deps.world.log.warn({ cause, tool: tool.name }, 'a tool of the swarm failed')
  }
  // A call that has no end would be taken from the model's view, and be made again.
  if (!hasOutput) await turn.commits.commitToolOutput(call.id, 'The tool failed.', { agentName, isForced: true })
  if (tool.isNavigation) work.isStopped = true
}

function buildToolContext(work: ToolWork, call: SwarmToolCall): Omit<ToolContext, 'commitToolOutput'> {
  const { turn, attempt } = work
  const { agentName } = attempt.agent
  return {
    clientId: turn.clientId,
    agentName,
    toolId: call.id,
    params: call.function.arguments,
    lastUserMessage: attempt.lastUserMessage,
    async commitStopTools() {
      work.isStopped = true
      await turn.commits.commitStopTools({ agentName })
    },
    async commitFlush() {
      await turn.commits.commitFlush({ agentName })
    },
    // Who hands over in a turn that was given up would change the agent under the next one.
    changeToAgent: async name => !attempt.signal.aborted && (await turn.navigation.changeToAgent(name)),
    execute(message) {
      work.next = message
    },
    emit(content) {
      work.answer = content
    },
  }
}
