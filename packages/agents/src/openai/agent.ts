// Answers with a chat completion model: prompts it, runs its tool calls, and repeats until it has answered.
import type { HistoricalMessage, NormalizedMessage, ToolCallPart } from '@postern/message'
import { parseDuration, policiesOf } from '@postern/message'
import type { AgentChunk, AgentContext } from '@postern/pipeline'
import { isAnswerSentWhole } from '@postern/pipeline'
import type { z } from 'zod'
import { openApprovals } from '../approval/approvals.ts'
import { endDecidedCall, findDecidedRun, toCallMessages } from '../approval/decided-call.ts'
import type { Approvals } from '../approval/port.ts'
import { readPreview } from '../approval/port.ts'
import { openCompletion } from '../completion/completion.ts'
import type { AgentOpenDeps, OpenedAgent } from '../kind/agent-kind.ts'
import { openTools } from '../mcp/toolbox.ts'
import type { FindDelimiter } from '../prompt/data-block.ts'
import { createDelimiterFinder } from '../prompt/data-block.ts'
import type { ChatMessage } from '../prompt/messages.ts'
import { readImages } from '../prompt/messages.ts'
import { composePrompt } from '../prompt/prompt.ts'
import { recordModelRequest } from '../rounds/model-request.ts'
import type { Round } from '../rounds/round.ts'
import { endAnswer, readRound, toRecordChunks } from '../rounds/round.ts'
import type { PreparedCall } from '../rounds/run-call.ts'
import { prepareCall } from '../rounds/run-call.ts'
import { recordToolRun } from '../tools/tool-run.ts'
import type { Toolbox, ToolTurnContext } from '../tools/tools.ts'
import { filesOf, formatToolResult, withoutFiles } from '../tools/tools.ts'
import type { openaiAgentSchema } from './config.ts'
import type { ConnectedModel } from './model-endpoint.ts'
import { openModelEndpoint } from './model-endpoint.ts'

export interface Model extends ConnectedModel {
  readonly config: z.output<typeof openaiAgentSchema>
  readonly tools: Toolbox['tools']
  readonly approvals: Approvals
  readonly delimiterOf: FindDelimiter
  /** The time limit for all rounds of a turn, ms. */
  readonly timeoutMs: number
}

/** Opens an agent whose answers a model writes. @throws ConfigError */
export async function openOpenaiAgent(config: Model['config'], deps: AgentOpenDeps): Promise<OpenedAgent> {
  const { name, system, stores } = deps
  const { tools, close } = await openTools(config, `agents.${name}`, deps)
  const model: Model = {
    ...openModelEndpoint(config, system),
    config,
    tools,
    approvals: openApprovals({ name, records: stores.records, system }),
    delimiterOf: await createDelimiterFinder(stores, name),
    // Silence until just before the turn's own deadline is Unavailable, so the turn is retried.
    timeoutMs: Math.floor(parseDuration(config.deadline) * 0.9),
  }
  return { agent: { handle: (message, context) => answerMessage(model, message, context) }, ...(close && { close }) }
}

/** Asks the model, runs its tool calls, and asks again with the results until there is an answer. */
async function* answerMessage(
  model: Model,
  message: NormalizedMessage,
  context: AgentContext,
): AsyncGenerator<AgentChunk, void, undefined> {
  const endsAt = model.endpoint.system.now() + model.timeoutMs
  const messages = [...(await openConversation(model, message, context))]
  messages.push(...(yield* resumeDecidedCall(model, message, context)))
  const ids = new Set<string>()
  let hasSpoken = false
  for (let roundsLeft = model.config.max_rounds; ; roundsLeft -= 1) {
    const time = { signal: context.signal, timeoutMs: Math.max(1, endsAt - model.endpoint.system.now()) }
    const chunks = openCompletion(describeRequest(model, messages, { mayCall: roundsLeft > 0 }), model.endpoint, time)
    const delimiter = model.delimiterOf(message, context)
    const { reasoningHabit } = model.endpoint
    const pieces = readRound(chunks, { reasoningHabit, delimiter, waitsForEnd: isAnswerSentWhole(context) })
    const round = yield* recordModelRequest(pieces, model.endpoint, context)
    yield* toRecordChunks(round, model.endpoint)
    hasSpoken ||= round.text.trim() !== ''
    if (round.calls.length === 0 || round.refusal.trim() || round.finishReason === 'content_filter') {
      yield* endAnswer(round, { mayStaySilent: model.config.may_stay_silent, hasSpoken, log: context.log })
      return
    }
    checkCalls(round, roundsLeft)
    const results = yield* runCalls(model, round, { context: { ...context, message }, ids })
    if (!results) return
    messages.push(...results)
  }
}

/** Settles the call of an earlier turn that the message decides, and runs the call if it is granted. Returns the call and its result for the model. */
async function* resumeDecidedCall(
  { approvals, tools }: Model,
  message: NormalizedMessage,
  context: AgentContext,
): AsyncGenerator<AgentChunk, readonly ChatMessage[], undefined> {
  const decidedCall = await approvals.findDecided(message)
  if (!decidedCall) return []
  const { part, outcome } = await endDecidedCall(decidedCall, { tools, approvals, context: { ...context, message } })
  yield decidedCall.isByOperator ? { trace: [part] } : part
  yield* filesOf(outcome)
  return toCallMessages(part, outcome)
}

async function openConversation(model: Model, message: NormalizedMessage, context: AgentContext) {
  const { turns, cacheBreakpointAfter } = context.history()
  const messages = composePrompt({
    prompt: model.config.prompt,
    turns,
    cacheBreakpointAfter: model.config.cache_control ? cacheBreakpointAfter : undefined,
    message,
    delimiter: model.delimiterOf(message, context),
    flags: context.flags ?? [],
    images: model.config.images ? await readImages(message, context) : [],
    withCalls: model.tools.size > 0,
  })
  const waitingCalls = await listWaitingCalls(turns, model.approvals)
  return message.policy_resolution ? messages : messages.toSpliced(-1, 0, ...waitingCalls)
}

function describeRequest(
  { settings, tools }: Model,
  messages: readonly ChatMessage[],
  { mayCall }: { readonly mayCall: boolean },
): object {
  const functions = [...tools.values()].map(({ name, description, parameters }) => {
    return { type: 'function', function: { name, description, parameters } }
  })
  return {
    ...settings,
    messages,
    ...(functions.length > 0 && { tools: functions, tool_choice: mayCall ? 'auto' : 'none' }),
  }
}

function checkCalls({ finishReason }: Round, roundsLeft: number): void {
  if (finishReason === 'length') throw new Error('The model was cut off while it called a tool; raise "max_tokens"')
  if (roundsLeft <= 0) throw new Error('The model goes on calling tools; raise "max_rounds"')
}

/** Lists the calls of the last answer that this message does not decide, with their state, for the model. */
async function listWaitingCalls(
  turns: readonly HistoricalMessage[],
  approvals: Approvals,
): Promise<readonly ChatMessage[]> {
  const lastAnswer = turns.findLast(({ role }) => role === 'assistant')
  const calls = await Promise.all(policiesOf(lastAnswer?.parts ?? []).map(approvals.describe))
  return calls.flatMap(call => {
    if (!call) return []
    const { kind: name, apply_input, metadata } = call.action
    return toCallMessages({ id: String(metadata.tool_call_id), name, args: apply_input.args }, call.outcome)
  })
}

interface CallScope {
  readonly context: ToolTurnContext
  /** The ids of all calls of this answer. */
  readonly ids: Set<string>
}

/**
 * Runs calls one after the other in the model's order, because a later one may depend on an earlier one. Returns undefined if one needs
 * approval: the turn then ends with the question, and later calls do not run.
 */
async function* runCalls(
  model: Model,
  { text, calls }: Round,
  { context, ids }: CallScope,
): AsyncGenerator<AgentChunk, readonly ChatMessage[] | undefined, undefined> {
  const callsWithIds = calls.map(call => ({ call, id: createCallId(call.id, ids) }))
  const results: ChatMessage[] = []
  for (const { call, id } of callsWithIds) {
    const result = yield* runCall(model, prepareCall(call, id, model), context)
    if (!result) return undefined
    results.push(result)
  }
  const tool_calls = callsWithIds.map(({ call: { name, args }, id }) => {
    return { id, type: 'function', function: { name, arguments: args.trim() || '{}' } } as const
  })
  return [{ role: 'assistant', content: text || null, tool_calls }, ...results]
}

/** Runs one call and returns its result for the model, or asks for approval and returns undefined. */
async function* runCall(
  { approvals, config: { show_tools: showsCalls } }: Model,
  { tool, rule, part, run: runCallNow }: PreparedCall,
  context: ToolTurnContext,
): AsyncGenerator<AgentChunk, ChatMessage | undefined, undefined> {
  const isHidden = rule?.policy === 'preview' && rule.approve === 'operator'
  const show = (shownPart: ToolCallPart) => (isHidden ? { trace: [shownPart] } : shownPart)
  let run: PreparedCall['run'] | undefined = runCallNow
  if (tool && rule?.policy === 'preview') {
    const waitingCall = { ...part, rule, rules: tool.rules, schema: tool.parameters }
    run = await findDecidedRun(tool, waitingCall, { approvals, context })
    if (!run) {
      const preview = await readPreview(tool, part.args, context)
      const requirement = await approvals.ask({ ...waitingCall, preview }, context)
      // The call is shown even if calls are hidden otherwise, because somebody must decide on it.
      yield show(part)
      yield requirement
      return undefined
    }
  }
  if (showsCalls) yield show(part)
  const outcome = await recordToolRun(part, context, run)
  if (showsCalls) yield show({ ...part, ...withoutFiles(outcome) })
  yield* filesOf(outcome)
  return { role: 'tool', tool_call_id: part.id, content: formatToolResult(outcome) }
}

/** Returns the model's own id if it is unique in the answer. Some servers restart their numbering in each round. */
function createCallId(modelCallId: string, ids: Set<string>): string {
  const id =
    modelCallId && modelCallId.length <= 128 && !ids.has(modelCallId)
      ? modelCallId
      : `call${String(ids.size + 1).padStart(5, '0')}`
  ids.add(id)
  return id
}
