import type { JsonMap } from '../../json/difference.ts'
import type { ConversationResult, ToolExecutionResult } from './conversation-result.ts'
import type { ExecutedTool, ToolAuditEvent, ToolObservation } from './tool-audit.ts'
import { auditTool, observeTool } from './tool-audit.ts'

const conversationResultSchema = 'agents-api.conversation-result'
const runOutcomeSchema = 'agents-api.run-outcome'

/** Failures that are worth another try; every other one is not. */
const retryableStatuses: ReadonlySet<string> = new Set(['stalled', 'interrupted', 'transcript_lock_contention'])

interface RunOutcome {
  readonly schema: typeof runOutcomeSchema
  readonly status: string
  readonly completed: boolean
  readonly stop_reason: string
  readonly retryable: boolean
}

/** What is kept of a run for those who watch over it: proof of what was run, and the shape of it; no argument and no result. */
interface ConversationReport {
  readonly schema: typeof conversationResultSchema
  readonly version: 1
  readonly tool_audit_events: readonly ToolAuditEvent[]
  readonly tool_observability: readonly ToolObservation[]
  readonly run_outcome: RunOutcome
  readonly usage?: JsonMap | undefined
}

/** The later contract of a conversation's result, as far as it can be had from the result itself. Pure. */
export function reportConversation(result: ConversationResult): ConversationReport {
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

function writeOutcome({ status: named, completed: said, error, warning }: ConversationResult): RunOutcome {
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
