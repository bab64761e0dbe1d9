// Runs the tools of a swarm's member: module tools, approvals and hand-overs.
import type { ToolCallPart } from '@postern/message'
import type { AgentChunk } from '@postern/pipeline'
import type { SwarmTool, SwarmToolContext } from '@postern/swarm'
import { createNavigateBackTool, createNavigateTool } from '@postern/swarm'
import type { JsonMap } from '@postern/transcript'
import { findDecidedRun } from '../../approval/decided-call.ts'
import type { Approvals } from '../../approval/port.ts'
import { describeCall, readPreview } from '../../approval/port.ts'
import { runTool } from '../../rounds/run-call.ts'
import { recordToolRun } from '../../tools/tool-run.ts'
import type { MatchingRule, RuledTool, ToolOutcome, ToolTurnContext } from '../../tools/tools.ts'
import { formatToolResult, withoutFiles } from '../../tools/tools.ts'

/** The turn in which a member's tools run, with the functions that the tools use. */
export interface ToolTurn {
  readonly context: ToolTurnContext
  readonly approvals: Approvals
  readonly argumentErrors: ReadonlyMap<string, string>
  /** Sends a chunk of the answer to observers. The store records it with the answer. */
  emit(chunk: AgentChunk): void
  /** Adds the files of a call to the answer. */
  emitFiles(outcome: ToolOutcome): void
  /** Shows that the active member has changed. */
  showState(): void
  /** Ends the turn with a question and without further text. */
  endWithQuestion(): void
  /** Finds the replacement for this text; undefined if no policy forbids the text. */
  findRefusal(text: string): Promise<string | undefined>
}

/** Creates a tool of a module in the form in which a member calls it. */
export function createMemberTool(tool: RuledTool, turn: ToolTurn): SwarmTool {
  return {
    name: tool.name,
    description: tool.description,
    parameters: tool.parameters as JsonMap,
    async call(call) {
      const errorMessage = turn.argumentErrors.get(call.toolId) ?? tool.findFault(call.params)
      const part = describePart(tool.name, call)
      const context = createMemberContext(turn.context, call.agentName)
      const rule = tool.findRule(call.params)
      let run = async (toolContext: ToolTurnContext): Promise<ToolOutcome> =>
        errorMessage === undefined ? runTool(tool, call.params, toolContext) : { error: { message: errorMessage } }
      if (errorMessage === undefined && rule?.policy === 'preview') {
        const decidedRun = await findDecidedRun(tool, { ...part, rule }, { approvals: turn.approvals, context })
        if (!decidedRun) return requestApproval(tool, call, rule, turn)
        run = decidedRun
      }
      turn.emit({ trace: [part] })
      const outcome = await recordToolRun(part, turn.context, toolContext =>
        run(createMemberContext(toolContext, call.agentName)),
      )
      turn.emit({ trace: [{ ...part, ...withoutFiles(outcome) }] })
      turn.emitFiles(outcome)
      await call.commitToolOutput(formatToolResult(outcome))
    },
  }
}

async function requestApproval(tool: RuledTool, call: SwarmToolContext, rule: MatchingRule, turn: ToolTurn) {
  const part = describePart(tool.name, call)
  const preview = await readPreview(tool, call.params, createMemberContext(turn.context, call.agentName))
  const refusal = await findQuestionRefusal(part, preview, { rule, turn })
  if (refusal !== undefined) return rejectForbiddenQuestion(part, call, { refusal, turn })
  const { rules, parameters: schema } = tool
  const requirement = await turn.approvals.ask({ ...part, preview, rule, rules, schema }, turn.context)
  await call.commitStopTools()
  turn.emit(rule.approve === 'operator' ? { trace: [part] } : part)
  turn.emit(requirement)
  turn.endWithQuestion()
  // This output is only for the current turn. The store records the call without an end.
  await call.commitToolOutput('It waits to be allowed.')
  call.emit('It waits to be allowed.')
}

/**
 * Returns the replacement text if a policy forbids the question, because the person reads its text and arguments. An operator's question is not
 * shown to the person.
 */
async function findQuestionRefusal(
  { name, args }: ToolCallPart,
  preview: unknown,
  { rule, turn }: { readonly rule: MatchingRule; readonly turn: ToolTurn },
): Promise<string | undefined> {
  if (rule.approve === 'operator') return undefined
  return turn.findRefusal(`${describeCall(name, args, preview).summary}\n${JSON.stringify(args)}`)
}

/** Refuses to ask the question, so that no call waits. */
async function rejectForbiddenQuestion(
  part: ToolCallPart,
  call: SwarmToolContext,
  { refusal, turn }: { readonly refusal: string; readonly turn: ToolTurn },
): Promise<void> {
  const outcome: ToolOutcome = { error: { message: 'It may not be asked for in these words.' } }
  await call.commitStopTools()
  turn.emit({ trace: [{ ...part, ...outcome }] })
  await call.commitToolOutput(formatToolResult(outcome))
  call.emit(refusal)
}

function describePart(name: string, { toolId, params, agentName }: SwarmToolContext): ToolCallPart {
  return { kind: 'tool_call', id: toolId, name, args: params, agent: agentName }
}

/** Creates the tool that hands over to another member. */
export function createHandOver(to: string, description: string | undefined, turn: ToolTurn): SwarmTool {
  const toolDescription = `Hands the conversation over to ${to}${description ? `: ${description}` : ''}`
  return traceHandOver(createNavigateTool({ to, description: toolDescription }), turn)
}

/** Creates the tool that hands back to the previous member. */
export function createHandBack(turn: ToolTurn): SwarmTool {
  return traceHandOver(createNavigateBackTool(), turn)
}

/** Wraps a hand-over so that the trace shows its call and names the next speaker. */
function traceHandOver(tool: SwarmTool, turn: ToolTurn): SwarmTool {
  const show = async (changePromise: Promise<boolean>) => {
    if (await changePromise) turn.showState()
    return changePromise
  }
  return {
    ...tool,
    async call(call) {
      const part = describePart(tool.name, call)
      turn.emit({ trace: [part] })
      await tool.call({
        ...call,
        changeToAgent: name => show(call.changeToAgent(name)),
        changeToPrevious: () => show(call.changeToPrevious()),
        async commitToolOutput(content) {
          await call.commitToolOutput(content)
          turn.emit({ trace: [{ ...part, result: content }] })
        },
      })
    },
  }
}

/** Creates the context of a tool for its member, so that questions and notes have the member's name. */
export function createMemberContext(context: ToolTurnContext, member: string): ToolTurnContext {
  return {
    ...context,
    call: (address, content, options) => context.call(address, content, { agentKey: member, ...options }),
    note: note => context.note({ agent_key: member, ...note }),
  }
}
