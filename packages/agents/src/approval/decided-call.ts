import type { Json, ToolCallPart } from '@postern/core'
import type { ChatMessage } from '../prompt/messages.ts'
import { runTool } from '../rounds/run-call.ts'
import type { Tool, Toolbox, ToolContext, ToolOutcome } from '../tools/tools.ts'
import { formatToolResult } from '../tools/tools.ts'
import type { Approvals, DecidedCall, WaitingCall } from './port.ts'

interface DecidedDeps {
  readonly tools: Toolbox['tools']
  readonly approvals: Approvals
  readonly context: ToolContext
}

/** Runs an approved call and returns its end. A tool that is gone or forbidden by now does not run. */
export async function endDecidedCall(
  decided: DecidedCall,
  { tools, approvals, context }: DecidedDeps,
): Promise<{ readonly part: ToolCallPart; readonly outcome: ToolOutcome }> {
  const { action, shown, requirement, edited } = decided
  const tool = tools.get(action.kind)
  const outcome = await approvals.settle(decided, async args => {
    if (!tool) return { error: { message: 'There is no such tool.' } }
    const fault = tool.findFault(args)
    return fault === undefined ? runTool(tool, args, context) : { error: { message: fault } }
  })
  context.signal.throwIfAborted()
  const args = edited ?? action.apply_input.args
  const call = { kind: 'tool_call', id: shown.tool_call_id, name: action.kind, args, continues: requirement } as const
  return { part: { ...call, ...(shown.agent !== undefined && { agent: shown.agent }), ...outcome }, outcome }
}

/** A call and its end for a model. */
export function describeCallEnd(
  { id, name, args }: { readonly id: string; readonly name: string; readonly args?: unknown },
  outcome: ToolOutcome,
): readonly ChatMessage[] {
  const written = { name, arguments: JSON.stringify((args ?? {}) as Json) }
  return [
    { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: written }] },
    { role: 'tool', tool_call_id: id, content: formatToolResult(outcome) },
  ]
}

/** The end of a call that was decided before it was made; undefined: somebody must decide. */
export async function findDecidedEnd(
  tool: Tool,
  call: WaitingCall,
  { approvals, context }: { readonly approvals: Approvals; readonly context: ToolContext },
): Promise<(() => Promise<ToolOutcome>) | undefined> {
  const ruled = await approvals.findRemembered(call, context)
  if (!ruled) return undefined
  return async () => {
    const outcome = await approvals.settle(ruled, args => runTool(tool, args, context))
    context.signal.throwIfAborted()
    return outcome
  }
}
