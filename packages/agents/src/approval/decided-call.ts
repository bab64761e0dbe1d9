// Ends a tool call after the decision on it, and writes the call and its result for the model.
import type { Json, ToolCallPart } from '@postern/message'
import type { ChatMessage } from '../prompt/messages.ts'
import { runTool } from '../rounds/run-call.ts'
import { findRuleFault } from '../tools/tool-rules.ts'
import { recordToolRun } from '../tools/tool-run.ts'
import type { Tool, Toolbox, ToolOutcome, ToolTurnContext } from '../tools/tools.ts'
import { formatToolResult, withoutFiles } from '../tools/tools.ts'
import type { Approvals, DecidedCall, WaitingCall } from './port.ts'

interface DecidedCallDeps {
  readonly tools: Toolbox['tools']
  readonly approvals: Approvals
  readonly context: ToolTurnContext
  /** Derives the context of the tool from that of the turn; default: the same context. */
  deriveContext?(context: ToolTurnContext): ToolTurnContext
}

/**
 * Runs an approved call and returns its end. A call whose tool is removed or forbidden in the meantime, or that somebody else must now allow, does
 * not run.
 */
export async function endDecidedCall(
  decidedCall: DecidedCall,
  { tools, approvals, context, deriveContext = context => context }: DecidedCallDeps,
): Promise<{ readonly part: ToolCallPart; readonly outcome: ToolOutcome }> {
  const { action, shownAction, requirement, edited, isByOperator } = decidedCall
  const tool = tools.get(action.kind)
  const outcome = await recordToolRun({ id: shownAction.tool_call_id, name: action.kind }, context, toolContext =>
    approvals.settle(decidedCall, async args => {
      if (!tool) return { error: { message: 'There is no such tool.' } }
      const errorMessage =
        tool.findFault(args) ?? findRuleFault(tool.findRule(args), isByOperator ? 'operator' : 'sender')
      return errorMessage === undefined
        ? runTool(tool, args, deriveContext(toolContext))
        : { error: { message: errorMessage } }
    }),
  )
  context.signal.throwIfAborted()
  const args = edited ?? action.apply_input.args
  const call = {
    kind: 'tool_call',
    id: shownAction.tool_call_id,
    name: action.kind,
    args,
    continues: requirement,
  } as const
  return {
    part: { ...call, ...(shownAction.agent !== undefined && { agent: shownAction.agent }), ...withoutFiles(outcome) },
    outcome,
  }
}

/** Writes a call and its outcome as two messages for a model. */
export function toCallMessages(
  { id, name, args }: { readonly id: string; readonly name: string; readonly args?: unknown },
  outcome: ToolOutcome,
): readonly ChatMessage[] {
  const functionCall = { name, arguments: JSON.stringify((args ?? {}) as Json) }
  return [
    { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: functionCall }] },
    { role: 'tool', tool_call_id: id, content: formatToolResult(outcome) },
  ]
}

/** Returns a function that settles a call by an earlier decision, or undefined if somebody must still decide. */
export async function findDecidedRun(
  tool: Tool,
  call: WaitingCall,
  { approvals, context }: { readonly approvals: Approvals; readonly context: ToolTurnContext },
): Promise<((context: ToolTurnContext) => Promise<ToolOutcome>) | undefined> {
  const rememberedCall = await approvals.findRemembered(call, context)
  if (!rememberedCall) return undefined
  return async toolContext => {
    const outcome = await approvals.settle(rememberedCall, args => runTool(tool, args, toolContext))
    toolContext.signal.throwIfAborted()
    return outcome
  }
}
