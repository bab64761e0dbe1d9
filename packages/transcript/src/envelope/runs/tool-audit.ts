import type { Json } from '@postern/core'
import { hashContent } from '../../json/content-hash.ts'
import { isJsonMap, type JsonMap } from '../../json/difference.ts'

/** What observers may keep of a call: which arguments and how many, never their values. */
export interface ToolObservation {
  readonly tool_name: string
  readonly argument_names: readonly string[]
  readonly argument_count: number
  readonly result_type: string
}

export interface ToolAuditEvent {
  readonly type: 'tool_execution'
  readonly tool_name: string
  readonly tool_call_id: string
  readonly parameters_sha256: string
  readonly result_sha256: string
  readonly schema_version: 1
  readonly turn_count: number
  readonly success: boolean
}

export interface ExecutedTool {
  readonly tool_name: string
  readonly tool_call_id: string
  readonly parameters: JsonMap
  readonly result: Json
  readonly turn_count: number
  readonly success: boolean
}

export function observeTool({ tool_name, parameters, result }: ExecutedTool): ToolObservation {
  const argument_names = Object.keys(parameters).toSorted()
  return { tool_name, argument_names, argument_count: argument_names.length, result_type: nameType(result) }
}

/** Digests of a call and its result, without either. */
export function auditTool(executed: ExecutedTool): ToolAuditEvent {
  const { tool_name, tool_call_id, parameters, result, turn_count, success } = executed
  const parameters_sha256 = hashContent(parameters)
  const result_sha256 = hashContent(result)
  return {
    type: 'tool_execution',
    tool_name,
    tool_call_id,
    parameters_sha256,
    result_sha256,
    schema_version: 1,
    turn_count,
    success,
  }
}

function nameType(value: Json): string {
  if (value === null) return 'null'
  if (isJsonMap(value)) return 'object'
  return Array.isArray(value) ? 'array' : typeof value
}
