import type { Json } from '@postern/core'
import { Rejection } from '@postern/core'
import type { JsonMap } from '../../json/difference.ts'
import { copyJson, isJsonMap } from '../../json/difference.ts'
import type { AgentMessageEnvelope } from '../envelope.ts'
import { normalizeEnvelope, normalizeEnvelopes } from '../normalize.ts'
import type { ExecutedTool } from './tool-policy.ts'
import { auditTool, observeTool } from './tool-policy.ts'

/** The input of a conversation loop (`agents_api_conversation_runner`). */
export interface ConversationRequest {
  readonly messages: readonly AgentMessageEnvelope[]
  readonly tools: readonly Json[]
  readonly provider: string
  readonly model: string
  readonly mode: string
  readonly payload: JsonMap
  readonly max_turns: number
  readonly single_turn: boolean
}

/** Another runtime's loop; `null` leaves the conversation to the built-in one. */
type ForeignRunner = (request: ConversationRequest) => Promise<unknown>
type BuiltInRunner = (request: ConversationRequest) => Promise<ConversationResult>

/**
 * Runs a conversation with the given runner. An unusable foreign result becomes a result that says so, with the given messages, and no
 * exception. @throws Rejection for invalid messages in the request; the runner's error
 */
export async function runConversation(
  request: Omit<ConversationRequest, 'messages'> & { readonly messages: readonly unknown[] },
  { foreign, builtIn }: { readonly foreign?: ForeignRunner | undefined; readonly builtIn: BuiltInRunner },
): Promise<ConversationResult> {
  const normalized = { ...request, messages: normalizeEnvelopes(request.messages) }
  const result = (await foreign?.(normalized)) ?? null
  if (result === null) return normalizeConversationResult(await builtIn(normalized))
  return takeForeignResult(normalized.messages, result)
}

function takeForeignResult(messages: readonly AgentMessageEnvelope[], result: unknown): ConversationResult {
  try {
    return normalizeConversationResult(result)
  } catch (error) {
    if (error instanceof Rejection) return buildFailedResult(messages, error.message)
    throw error
  }
}

const conversationResultSchema = 'agents-api.conversation-result'
const runOutcomeSchema = 'agents-api.run-outcome'

/** Failures that are worth another try; every other one is not. */
const retryableStatuses: ReadonlySet<string> = new Set(['stalled', 'interrupted', 'transcript_lock_contention'])

/**
 * What is kept of a run for those who watch over it: proof of what was run, and the shape of it; no argument and no result. It is the later
 * contract of a conversation's result, as far as it can be had from the result itself. Pure.
 */
export function reportConversation(result: ConversationResult) {
  const executed = result.tool_execution_results.map(readExecuted)
  const { usage } = result
  return {
    schema: conversationResultSchema,
    version: 1,
    tool_audit_events: executed.map(auditTool),
    tool_observability: executed.map(observeTool),
    run_outcome: writeOutcome(result),
    ...(typeof usage === 'object' && usage !== null && !Array.isArray(usage) && { usage: usage as JsonMap }),
  }
}

function readExecuted(execution: ToolExecutionResult, index: number): ExecutedTool {
  const { tool_name, parameters, result, turn_count, tool_call_id } = execution
  return {
    tool_name,
    tool_call_id: typeof tool_call_id === 'string' && tool_call_id !== '' ? tool_call_id : `${tool_name}-${index}`,
    parameters,
    result,
    turn_count,
    success: result.success !== false && result.error === undefined,
  }
}

function writeOutcome({ status: named, completed: said, error, warning }: ConversationResult) {
  const completed = error === undefined && said !== false
  const status = typeof named === 'string' && named !== '' ? named : completed ? 'completed' : 'failed'
  const reason = error ?? warning
  return {
    schema: runOutcomeSchema,
    status,
    completed,
    stop_reason: typeof reason === 'string' ? reason : status,
    retryable: retryableStatuses.has(status),
  }
}

type ToolExecutionResult = JsonMap & {
  readonly tool_name: string
  readonly result: JsonMap
  readonly parameters: JsonMap
  readonly turn_count: number
  readonly is_handler_tool?: boolean | undefined
}

/** The result of a conversation loop. The runner's other members stay. */
export type ConversationResult = JsonMap & {
  readonly messages: readonly AgentMessageEnvelope[]
  readonly tool_execution_results: readonly ToolExecutionResult[]
  readonly error?: string | undefined
}

/**
 * A runner's result with every message as an envelope.
 * @throws Rejection malformed, with the prefix `invalid_agent_conversation_result:` and the place
 */
export function normalizeConversationResult(value: unknown): ConversationResult {
  const result = copyResult(value)
  if (!Array.isArray(result.messages)) throw refuseResult('messages must be an array')
  const executions = result.tool_execution_results ?? []
  if (!Array.isArray(executions)) throw refuseResult('tool_execution_results must be an array')
  return {
    ...result,
    messages: result.messages.map((message, index) => normalizeAt(message, `messages[${index}]`)),
    tool_execution_results: executions.map((one, index) => checkExecution(one, `tool_execution_results[${index}]`)),
  }
}

/** The result for callers when a runner's result is unusable: the messages as given, no answer, and the reason. */
export function buildFailedResult(messages: readonly unknown[], reason: string): ConversationResult {
  return {
    messages: messages.map(message => normalizeEnvelope(message)),
    final_content: '',
    turn_count: 0,
    completed: false,
    last_tool_calls: [],
    tool_execution_results: [],
    error: reason,
  }
}

function copyResult(value: unknown): JsonMap {
  try {
    const copy = copyJson(value)
    if (isJsonMap(copy)) return copy
  } catch (cause) {
    throw new Rejection('malformed', 'invalid_agent_conversation_result: result must be JSON serializable', { cause })
  }
  throw refuseResult('result must be an object')
}

function normalizeAt(message: Json, place: string): AgentMessageEnvelope {
  try {
    return normalizeEnvelope(message)
  } catch (cause) {
    const reason = cause instanceof Rejection ? cause.message : 'not a message'
    throw new Rejection('malformed', `invalid_agent_conversation_result: ${place}: ${reason}`, { cause })
  }
}

/** PHP writes an empty map as `[]`. */
function checkExecution(value: Json, place: string): ToolExecutionResult {
  if (!isJsonMap(value)) throw refuseResult(`${place} must be an object`)
  const { tool_name, turn_count, is_handler_tool } = value
  if (typeof tool_name !== 'string' || tool_name === '')
    throw refuseResult(`${place}.tool_name must be a non-empty string`)
  if (!Number.isSafeInteger(turn_count)) throw refuseResult(`${place}.turn_count must be an integer`)
  if (is_handler_tool !== undefined && typeof is_handler_tool !== 'boolean') {
    throw refuseResult(`${place}.is_handler_tool must be a boolean`)
  }
  const maps = ['result', 'parameters'].map(name => [name, readResultMap(value[name], `${place}.${name}`)] as const)
  return { ...value, ...Object.fromEntries(maps) } as unknown as ToolExecutionResult
}

function readResultMap(value: Json | undefined, place: string): JsonMap {
  if (Array.isArray(value) && value.length === 0) return {}
  if (!isJsonMap(value)) throw refuseResult(`${place} must be an object`)
  return value
}

function refuseResult(reason: string): Rejection {
  return new Rejection('malformed', `invalid_agent_conversation_result: ${reason}`)
}
