import { runTool } from '../rounds/run-call.ts'
import type { ToolOutcome } from '../tools/result.ts'
import type { Tool, ToolContext } from '../tools/tools.ts'
import type { Approvals, WaitingCall } from './port.ts'

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
