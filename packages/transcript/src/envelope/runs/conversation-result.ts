import { type Json, Rejection } from '@postern/core'
import { copyJson } from '../../json/copy.ts'
import { isJsonMap, type JsonMap } from '../../json/difference.ts'
import type { AgentMessageEnvelope } from '../envelope.ts'
import { normalizeEnvelope } from '../normalize.ts'

export type ToolExecutionResult = JsonMap & {
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
