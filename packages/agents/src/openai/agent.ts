import type { AgentChunk, AgentContext, HistoricalMessage, NormalizedMessage, ToolCallPart } from '@postern/core'
import { parseDuration, policiesOf } from '@postern/core'
import type { z } from 'zod'
import { openApprovals } from '../approval/approvals.ts'
import { describeCallEnd, endDecidedCall, findDecidedEnd } from '../approval/decided-call.ts'
import type { Approvals } from '../approval/port.ts'
import { readPreview } from '../approval/port.ts'
import { openCompletion } from '../completion/completion.ts'
import type { OpenedAgent, Opening } from '../kind/agent-kind.ts'
import { openTools } from '../mcp/toolbox.ts'
import type { ChatMessage } from '../prompt/messages.ts'
import { readImages } from '../prompt/messages.ts'
import { composePrompt } from '../prompt/prompt.ts'
import type { Round } from '../rounds/round.ts'
import { bookUsage, endAnswer, readRound } from '../rounds/round.ts'
import { beginCall } from '../rounds/run-call.ts'
import type { Toolbox } from '../tools/tools.ts'
import { formatToolResult } from '../tools/tools.ts'
import type { openaiAgentSchema } from './config.ts'
import type { OpenedModel } from './model-endpoint.ts'
import { openModelEndpoint } from './model-endpoint.ts'

export interface Model extends OpenedModel {
  readonly config: z.output<typeof openaiAgentSchema>
  readonly tools: Toolbox['tools']
  readonly approvals: Approvals
  /** For all rounds of a turn, ms. */
  readonly timeoutMs: number
}

/** Opens an agent whose answers a model writes. @throws ConfigError */
export async function openOpenaiAgent(config: Model['config'], opening: Opening): Promise<OpenedAgent> {
  const { name, platform, stores } = opening
  const { tools, close } = await openTools(config, `agents.${name}`, opening)
  const model: Model = {
    ...openModelEndpoint(config, platform),
    config,
    tools,
    approvals: openApprovals({ name, records: stores.records, platform }),
    // Silence before the turn's own deadline is Unavailable, so the turn is tried again.
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
  const endsAt = model.endpoint.platform.now() + model.timeoutMs
  const messages = [...(await openConversation(model, message, context))]
  messages.push(...(yield* goOnWithCall(model, message, context)))
  const ids = new Set<string>()
  let hasSpoken = false
  for (let left = model.config.max_rounds; ; left -= 1) {
    const time = { signal: context.signal, timeoutMs: Math.max(1, endsAt - model.endpoint.platform.now()) }
    const round = yield* readRound(openCompletion(describeRequest(model, messages, left > 0), model.endpoint, time))
    yield* bookUsage(round, model.endpoint)
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

/** The message decides a call of an earlier turn: it runs or not, and the model gets the result. */
async function* goOnWithCall(
  { approvals, tools }: Model,
  message: NormalizedMessage,
  context: AgentContext,
): AsyncGenerator<AgentChunk, readonly ChatMessage[], undefined> {
  const decided = await approvals.findDecided(message)
  if (!decided) return []
  const { part, outcome } = await endDecidedCall(decided, { tools, approvals, context: { ...context, message } })
  yield decided.isOfOperator ? { trace: [part] } : part
  return describeCallEnd(part, outcome)
}

async function openConversation(model: Model, message: NormalizedMessage, context: AgentContext) {
  const { turns, cacheBreakpointAfter } = context.history()
  const messages = composePrompt({
    prompt: model.config.prompt,
    turns,
    cacheBreakpointAfter: model.config.cache_control ? cacheBreakpointAfter : undefined,
    message,
    flags: context.flags ?? [],
    images: model.config.images ? await readImages(message, context) : [],
    withCalls: model.tools.size > 0,
  })
  const asked = await listAskedCalls(turns, model.approvals)
  return message.policy_resolution ? messages : messages.toSpliced(-1, 0, ...asked)
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

/** Calls of the last answer that this message did not decide. The model gets their state. */
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
  /** Ids of all calls of this answer. */
  readonly ids: Set<string>
}

/**
 * Runs calls one after the other in the model's order, because a later one may depend on an earlier one. Undefined: one needs approval.
 * Then the turn ends with the question, and later calls do not run.
 */
async function* runCalls(
  { tools, approvals, config: { show_tools: showsCalls, tool_policies: rules } }: Model,
  { text, calls }: Round,
  { message, context, ids }: CallDeps,
): AsyncGenerator<AgentChunk, readonly ChatMessage[] | undefined, undefined> {
  const called = calls.map(call => ({ call, id: nameCall(call.id, ids) }))
  const toolContext = { ...context, message }
  const results: ChatMessage[] = []
  for (const { call, id } of called) {
    const begun = beginCall(call, id, { tools, context: toolContext })
    const rule = rules[call.name]
    const isOfOperator = rule?.policy === 'preview' && rule.approve === 'operator'
    const show = (part: ToolCallPart) => (isOfOperator ? { trace: [part] } : part)
    let { end } = begun
    if (begun.tool && rule?.policy === 'preview') {
      const waiting = { ...begun.part, rule, schema: begun.tool.parameters }
      const decided = await findDecidedEnd(begun.tool, waiting, { approvals, context: toolContext })
      if (!decided) {
        const preview = await readPreview(begun.tool, begun.part.args, toolContext)
        const requirement = await approvals.ask({ ...waiting, preview }, toolContext)
        // Whoever decides sees it anyway.
        yield show(begun.part)
        yield requirement
        return undefined
      }
      end = decided
    }
    if (showsCalls) yield show(begun.part)
    const outcome = await end()
    if (showsCalls) yield show({ ...begun.part, ...outcome })
    results.push({ role: 'tool', tool_call_id: id, content: formatToolResult(outcome) })
  }
  const tool_calls = called.map(({ call: { name, args }, id }) => {
    return { id, type: 'function', function: { name, arguments: args.trim() || '{}' } } as const
  })
  return [{ role: 'assistant', content: text || null, tool_calls }, ...results]
}

/** The model's own id if it is unique in the answer, because some servers count anew in each round. */
function nameCall(given: string, ids: Set<string>): string {
  const id = given && given.length <= 128 && !ids.has(given) ? given : `call${String(ids.size + 1).padStart(5, '0')}`
  ids.add(id)
  return id
}
