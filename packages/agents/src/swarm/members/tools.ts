import type { AgentChunk, ToolCallPart } from '@postern/core'
import type { SwarmTool, SwarmToolContext } from '@postern/swarm'
import { createNavigateBackTool, createNavigateTool } from '@postern/swarm'
import type { JsonMap } from '@postern/transcript'
import { findDecidedEnd } from '../../approval/decided-call.ts'
import type { Approvals } from '../../approval/port.ts'
import { describeCall, readPreview } from '../../approval/port.ts'
import type { ToolRule, ToolRules } from '../../config/approval.ts'
import { runTool } from '../../rounds/run-call.ts'
import type { Tool, ToolContext, ToolOutcome } from '../../tools/tools.ts'
import { formatToolResult } from '../../tools/tools.ts'

/** What tools of members need of the turn. */
export interface ToolTurn {
  readonly context: ToolContext
  readonly approvals: Approvals
  readonly faults: ReadonlyMap<string, string>
  /** Notifies listeners. The store keeps it with the answer. */
  tell(chunk: AgentChunk): void
  /** The active member has changed. */
  showState(): void
  /** The turn ends with a question and nothing else. */
  endWaiting(): void
  /** The replacement for this text if a policy forbids it. */
  findRefusal(words: string): Promise<string | undefined>
}

/** A tool of a module, as a member calls it. */
export function createMemberTool(tool: Tool, rules: ToolRules, turn: ToolTurn): SwarmTool {
  const rule = rules[tool.name]
  return {
    name: tool.name,
    description: tool.description,
    parameters: tool.parameters as JsonMap,
    async call(call) {
      const fault = turn.faults.get(call.toolId) ?? tool.findFault(call.params)
      const part = describePart(tool.name, call)
      const context = createMemberContext(turn.context, call.agentName)
      let end = () => runTool(tool, call.params, context)
      if (fault === undefined && rule?.policy === 'preview') {
        const decided = await findDecidedEnd(tool, { ...part, rule }, { approvals: turn.approvals, context })
        if (!decided) return askFirst(tool, call, rule, turn)
        end = decided
      }
      turn.tell({ trace: [part] })
      const outcome: ToolOutcome = fault === undefined ? await end() : { error: { message: fault } }
      turn.tell({ trace: [{ ...part, ...outcome }] })
      await call.commitToolOutput(formatToolResult(outcome))
    },
  }
}

async function askFirst(tool: Tool, call: SwarmToolContext, rule: ToolRule, turn: ToolTurn) {
  const part = describePart(tool.name, call)
  const preview = await readPreview(tool, call.params, createMemberContext(turn.context, call.agentName))
  const refusal = await findQuestionRefusal(part, preview, { rule, turn })
  if (refusal !== undefined) return refuseToAsk(part, call, { refusal, turn })
  const requirement = await turn.approvals.ask({ ...part, preview, rule, schema: tool.parameters }, turn.context)
  await call.commitStopTools()
  turn.tell(rule.approve === 'operator' ? { trace: [part] } : part)
  turn.tell(requirement)
  turn.endWaiting()
  // Only for this turn; the store keeps the call without an end.
  await call.commitToolOutput('It waits to be allowed.')
  call.emit('It waits to be allowed.')
}

/** The person in the conversation reads the question and the call. An operator's question is not shown to a person. */
async function findQuestionRefusal(
  { name, args }: ToolCallPart,
  preview: unknown,
  { rule, turn }: { readonly rule: ToolRule; readonly turn: ToolTurn },
): Promise<string | undefined> {
  if (rule.approve === 'operator') return undefined
  return turn.findRefusal(`${describeCall(name, args, preview).summary}\n${JSON.stringify(args)}`)
}

/** No question is asked, and nothing waits. */
async function refuseToAsk(
  part: ToolCallPart,
  call: SwarmToolContext,
  { refusal, turn }: { readonly refusal: string; readonly turn: ToolTurn },
): Promise<void> {
  const outcome: ToolOutcome = { error: { message: 'It may not be asked for in these words.' } }
  await call.commitStopTools()
  turn.tell({ trace: [{ ...part, ...outcome }] })
  await call.commitToolOutput(formatToolResult(outcome))
  call.emit(refusal)
}

function describePart(name: string, { toolId, params, agentName }: SwarmToolContext): ToolCallPart {
  return { kind: 'tool_call', id: toolId, name, args: params, agent: agentName }
}

/** Hands over to another member. */
export function createHandOver(to: string, description: string | undefined, turn: ToolTurn): SwarmTool {
  const about = `Hands the conversation over to ${to}${description ? `: ${description}` : ''}`
  return showHandOver(createNavigateTool({ to, description: about }), turn)
}

/** Hands back to the previous member. */
export function createHandBack(turn: ToolTurn): SwarmTool {
  return showHandOver(createNavigateBackTool(), turn)
}

/** Adds its call to the trace, and names the next speaker. */
function showHandOver(tool: SwarmTool, turn: ToolTurn): SwarmTool {
  const show = async (hasChanged: Promise<boolean>) => {
    if (await hasChanged) turn.showState()
    return hasChanged
  }
  return {
    ...tool,
    async call(call) {
      const part = describePart(tool.name, call)
      turn.tell({ trace: [part] })
      await tool.call({
        ...call,
        changeToAgent: name => show(call.changeToAgent(name)),
        changeToPrevious: () => show(call.changeToPrevious()),
        async commitToolOutput(content) {
          await call.commitToolOutput(content)
          turn.tell({ trace: [{ ...part, result: content }] })
        },
      })
    },
  }
}

/** A tool's actions belong to its member: questions and notes have its name. */
export function createMemberContext(context: ToolContext, member: string): ToolContext {
  return {
    ...context,
    call: (address, content, options) => context.call(address, content, { agentKey: member, ...options }),
    note: note => context.note({ agent_key: member, ...note }),
  }
}
