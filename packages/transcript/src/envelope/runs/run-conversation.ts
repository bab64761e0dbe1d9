// Runs a conversation with a foreign or built-in runner, and normalizes and reports its result.
import type { Json } from '@postern/message'
import { Rejection } from '@postern/message'
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

/** Runs another runtime's loop. The results `null` and `undefined` leave the conversation to the built-in loop. */
type ForeignRunner = (request: ConversationRequest) => Promise<unknown>
type BuiltInRunner = (request: ConversationRequest) => Promise<ConversationResult>

/**
 * Runs a conversation with the foreign runner, or else with the built-in runner. An unusable foreign result causes no exception. The result then
 * reports the reason and contains the messages of the request.
 * @throws Rejection for invalid messages in the request; the runner's error
 */
export async function runConversation(
  request: Omit<ConversationRequest, 'messages'> & { readonly messages: readonly unknown[] },
  {
    foreign: foreignRunner,
    builtIn: builtInRunner,
  }: { readonly foreign?: ForeignRunner | undefined; readonly builtIn: BuiltInRunner },
): Promise<ConversationResult> {
  const normalizedRequest = { ...request, messages: normalizeEnvelopes(request.messages) }
  const result = (await foreignRunner?.(normalizedRequest)) ?? null
  if (result === null) return normalizeConversationResult(await builtInRunner(normalizedRequest))
  return readForeignResult(normalizedRequest.messages, result)
}

function readForeignResult(messages: readonly AgentMessageEnvelope[], result: unknown): ConversationResult {
  try {
    return normalizeConversationResult(result)
  } catch (error) {
    if (error instanceof Rejection) return buildFailedResult(messages, error.message)
    throw error
  }
}

const conversationResultSchema = 'agents-api.conversation-result'
const runOutcomeSchema = 'agents-api.run-outcome'

/** The statuses of failures that may succeed on a retry. All other failures are permanent. */
const retryableStatuses: ReadonlySet<string> = new Set(['stalled', 'interrupted', 'transcript_lock_contention'])

/**
 * Reports a run to observers: evidence of the calls that ran, and their shape, but no argument and no result. It follows the later contract of
 * conversation results, and omits members that this result lacks.
 */
export function reportConversation(result: ConversationResult) {
  const executedTools = result.tool_execution_results.map(readExecutedTool)
  const { usage } = result
  return {
    schema: conversationResultSchema,
    version: 1,
    tool_audit_events: executedTools.map(auditTool),
    tool_observability: executedTools.map(observeTool),
    run_outcome: describeOutcome(result),
    ...(typeof usage === 'object' && usage !== null && !Array.isArray(usage) && { usage: usage as JsonMap }),
  }
}

function readExecutedTool(execution: ToolExecutionResult, index: number): ExecutedTool {
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

function describeOutcome({ status: reportedStatus, completed: reportedCompleted, error, warning }: ConversationResult) {
  const completed = error === undefined && reportedCompleted !== false
  const status =
    typeof reportedStatus === 'string' && reportedStatus !== '' ? reportedStatus : completed ? 'completed' : 'failed'
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

/** The result of a conversation loop. Other members of the runner's result are preserved. */
export type ConversationResult = JsonMap & {
  readonly messages: readonly AgentMessageEnvelope[]
  readonly tool_execution_results: readonly ToolExecutionResult[]
  readonly error?: string | undefined
}

/**
 * Normalizes a runner's result, with every message as an envelope. @throws Rejection malformed, with the prefix
 * `invalid_agent_conversation_result:` and the position
 */
export function normalizeConversationResult(value: unknown): ConversationResult {
  const result = copyResult(value)
  if (!Array.isArray(result.messages)) throw refuseResult('messages must be an array')
  const executions = result.tool_execution_results ?? []
  if (!Array.isArray(executions)) throw refuseResult('tool_execution_results must be an array')
  return {
    ...result,
    messages: result.messages.map((message, index) => normalizeAt(message, `messages[${index}]`)),
    tool_execution_results: executions.map((execution, index) =>
      checkExecution(execution, `tool_execution_results[${index}]`),
    ),
  }
}

/** Builds the result for callers if a runner's result is unusable. It contains the messages of the request and the reason, but no answer. */
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

function normalizeAt(message: Json, position: string): AgentMessageEnvelope {
  try {
    return normalizeEnvelope(message)
  } catch (cause) {
    const reason = cause instanceof Rejection ? cause.message : 'not a message'
    throw new Rejection('malformed', `invalid_agent_conversation_result: ${position}: ${reason}`, { cause })
  }
}

/** Validates one execution. PHP writes an empty map as `[]`. */
function checkExecution(value: Json, position: string): ToolExecutionResult {
  if (!isJsonMap(value)) throw refuseResult(`${position} must be an object`)
  const { tool_name, turn_count, is_handler_tool } = value
  if (typeof tool_name !== 'string' || tool_name === '')
    throw refuseResult(`${position}.tool_name must be a non-empty string`)
  if (!Number.isSafeInteger(turn_count)) throw refuseResult(`${position}.turn_count must be an integer`)
  if (is_handler_tool !== undefined && typeof is_handler_tool !== 'boolean') {
    throw refuseResult(`${position}.is_handler_tool must be a boolean`)
  }
  const maps = ['result', 'parameters'].map(name => [name, readResultMap(value[name], `${position}.${name}`)] as const)
  return { ...value, ...Object.fromEntries(maps) } as unknown as ToolExecutionResult
}

function readResultMap(value: Json | undefined, position: string): JsonMap {
  if (Array.isArray(value) && value.length === 0) return {}
  if (!isJsonMap(value)) throw refuseResult(`${position} must be an object`)
  return value
}

function refuseResult(reason: string): Rejection {
  return new Rejection('malformed', `invalid_agent_conversation_result: ${reason}`)
}
