// Answers with a chat completion model: prompts it, runs its tool calls, and repeats until it has answered.
import type { HistoricalMessage, NormalizedMessage, ToolCallPart } from '@postern/message'
import { parseDuration, policiesOf } from '@postern/message'
import type { AgentChunk, AgentContext } from '@postern/pipeline'
import type { z } from 'zod'
import { openApprovals } from '../approval/approvals.ts'
import { describeCallEnd, endDecidedCall, findDecidedEnd } from '../approval/decided-call.ts'
import type { Approvals } from '../approval/port.ts'
import { readPreview } from '../approval/port.ts'
import { openCompletion } from '../completion/completion.ts'
import type { AgentOpenDeps, OpenedAgent } from '../kind/agent-kind.ts'
import { openTools } from '../mcp/toolbox.ts'
import type { NameDelimiter } from '../prompt/data-block.ts'
import { openDelimiters } from '../prompt/data-block.ts'
import type { ChatMessage } from '../prompt/messages.ts'
import { readImages } from '../prompt/messages.ts'
import { composePrompt } from '../prompt/prompt.ts'
import { recordModelRequest } from '../rounds/model-request.ts'
import type { Round } from '../rounds/round.ts'
import { endAnswer, readRound, recordRound } from '../rounds/round.ts'
import { beginCall } from '../rounds/run-call.ts'
import { recordToolRun } from '../tools/tool-run.ts'
import type { Toolbox } from '../tools/tools.ts'
import { filesOf, formatToolResult, withoutFiles } from '../tools/tools.ts'
import type { openaiAgentSchema } from './config.ts'
import type { OpenedModel } from './model-endpoint.ts'
import { openModelEndpoint } from './model-endpoint.ts'

export interface Model extends OpenedModel {
  readonly config: z.output<typeof openaiAgentSchema>
  readonly tools: Toolbox['tools']
  readonly approvals: Approvals
  readonly nameDelimiter: NameDelimiter
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
    nameDelimiter: await openDelimiters(stores, name),
    // Silence until just before the turn's own deadline is Unavailable, so the turn is retried.
    timeoutMs: Math.floor(parseDuration(config.deadline) * 0.9),
  }
  return { agent: { handle: (message, context) => converse(model, message, context) }, ...(close && { close }) }
}

/** Asks the model, runs its tool calls, and asks again with the results until there is an answer. */
async function* converse(
  model: Model,
  message: NormalizedMessage,
  context: AgentContext,
): AsyncGenerator<AgentChunk, void, undefined> {
  const endsAt = model.endpoint.system.now() + model.timeoutMs
  const messages = [...(await openConversation(model, message, context))]
  messages.push(...(yield* goOnWithCall(model, message, context)))
  const ids = new Set<string>()
  let hasSpoken = false
  for (let left = model.config.max_rounds; ; left -= 1) {
    const time = { signal: context.signal, timeoutMs: Math.max(1, endsAt - model.endpoint.system.now()) }
    const chunks = openCompletion(describeRequest(model, messages, left > 0), model.endpoint, time)
    const delimiter = model.nameDelimiter(message, context)
    const pieces = readRound(chunks, { reasoningHabit: model.endpoint.reasoningHabit, delimiter })
    const round = yield* recordModelRequest(pieces, model.endpoint, context)
    yield* recordRound(round, model.endpoint)
    hasSpoken ||= round.text.trim() !== ''
    if (round.calls.length === 0 || round.refusal.trim() || round.finish === 'content_filter') {
      yield* endAnswer(round, { mayStaySilent: model.config.may_stay_silent, hasSpoken, log: context.log })
      return
    }
    checkCalls(round, left)
    const results = yield* runCalls(model, round, { message, context, ids })
    if (!results) return
    messages.push(...results)
  }
}

/** Continues a call of an earlier turn that the message decides. It runs the call if the call is granted, and the model gets the result. */
async function* goOnWithCall(
  { approvals, tools }: Model,
  message: NormalizedMessage,
  context: AgentContext,
): AsyncGenerator<AgentChunk, readonly ChatMessage[], undefined> {
  const decidedCall = await approvals.findDecided(message)
  if (!decidedCall) return []
  const { part, outcome } = await endDecidedCall(decidedCall, { tools, approvals, context: { ...context, message } })
  yield decidedCall.isOfOperator ? { trace: [part] } : part
  yield* filesOf(outcome)
  return describeCallEnd(part, outcome)
}

async function openConversation(model: Model, message: NormalizedMessage, context: AgentContext) {
  const { turns, cacheBreakpointAfter } = context.history()
  const messages = composePrompt({
    prompt: model.config.prompt,
    turns,
    cacheBreakpointAfter: model.config.cache_control ? cacheBreakpointAfter : undefined,
    message,
    delimiter: model.nameDelimiter(message, context),
    flags: context.flags ?? [],
    images: model.config.images ? await readImages(message, context) : [],
    withCalls: model.tools.size > 0,
  })
  const askedCalls = await listAskedCalls(turns, model.approvals)
  return message.policy_resolution ? messages : messages.toSpliced(-1, 0, ...askedCalls)
}

function describeRequest({ settings, tools }: Model, messages: readonly ChatMessage[], mayCall: boolean): object {
  const functions = [...tools.values()].map(({ name, description, parameters }) => {
    return { type: 'function', function: { name, description, parameters } }
  })
  return {
    ...settings,
    messages,
    ...(functions.length > 0 && { tools: functions, tool_choice: mayCall ? 'auto' : 'none' }),
  }
}

function checkCalls({ finish }: Round, left: number): void {
  if (finish === 'length') throw new Error('The model was cut off while it called a tool; raise "max_tokens"')
  if (left <= 0) throw new Error('The model goes on calling tools; raise "max_rounds"')
}

/** Lists the calls of the last answer that this message did not decide. The model gets their state. */
async function listAskedCalls(
  turns: readonly HistoricalMessage[],
  approvals: Approvals,
): Promise<readonly ChatMessage[]> {
  const last = turns.findLast(({ role }) => role === 'assistant')
  const calls = await Promise.all(policiesOf(last?.parts ?? []).map(approvals.describe))
  return calls.flatMap(call => {
    if (!call) return []
    const { kind: name, apply_input, metadata } = call.action
    return describeCallEnd({ id: String(metadata.tool_call_id), name, args: apply_input.args }, call.outcome)
  })
}

interface CallDeps {
  readonly message: NormalizedMessage
  readonly context: AgentContext
  /** The ids of all calls of this answer. */
  readonly ids: Set<string>
}

/**
 * Runs calls one after the other in the model's order, because a later one may depend on an earlier one. Returns undefined if one needs
 * approval: the turn then ends with the question, and later calls do not run.
 */
async function* runCalls(
  { tools, approvals, config: { show_tools: showsCalls } }: Model,
  { text, calls }: Round,
  { message, context, ids }: CallDeps,
): AsyncGenerator<AgentChunk, readonly ChatMessage[] | undefined, undefined> {
  const callsWithIds = calls.map(call => ({ call, id: callIdOf(call.id, ids) }))
  const toolContext = { ...context, message }
  const results: ChatMessage[] = []
  for (const { call, id } of callsWithIds) {
    const openCall = beginCall(call, id, { tools })
    const { rule } = openCall
    const isOfOperator = rule?.policy === 'preview' && rule.approve === 'operator'
    const show = (part: ToolCallPart) => (isOfOperator ? { trace: [part] } : part)
    let { end } = openCall
    if (openCall.tool && rule?.policy === 'preview') {
      const waitingCall = { ...openCall.part, rule, rules: openCall.tool.rules, schema: openCall.tool.parameters }
      const decidedEnd = await findDecidedEnd(openCall.tool, waitingCall, { approvals, context: toolContext })
      if (!decidedEnd) {
        const preview = await readPreview(openCall.tool, openCall.part.args, toolContext)
        const requirement = await approvals.ask({ ...waitingCall, preview }, toolContext)
        // The call is shown even if calls are hidden otherwise, because somebody must decide on it.
        yield show(openCall.part)
        yield requirement
        return undefined
      }
      end = decidedEnd
    }
    if (showsCalls) yield show(openCall.part)
    const outcome = await recordToolRun(openCall.part, toolContext, end)
    if (showsCalls) yield show({ ...openCall.part, ...withoutFiles(outcome) })
    yield* filesOf(outcome)
    results.push({ role: 'tool', tool_call_id: id, content: formatToolResult(outcome) })
  }
  const tool_calls = callsWithIds.map(({ call: { name, args }, id }) => {
    return { id, type: 'function', function: { name, arguments: args.trim() || '{}' } } as const
  })
  return [{ role: 'assistant', content: text || null, tool_calls }, ...results]
}

/** Returns the model's own id if it is unique in the answer. Some servers restart their numbering in each round. */
function callIdOf(sentId: string, ids: Set<string>): string {
  const id =
    sentId && sentId.length <= 128 && !ids.has(sentId) ? sentId : `call${String(ids.size + 1).padStart(5, '0')}`
  ids.add(id)
  return id
}
