// Gives the model of a swarm's member the result or state of each call that needed approval.
import type { Json, NormalizedMessage, Policy, ToolCallPart } from '@postern/message'
import { policiesOf } from '@postern/message'
import type { AgentChunk } from '@postern/pipeline'
import type { SwarmClient } from '@postern/swarm'
import type { TranscriptEntry, TranscriptStore } from '@postern/transcript'
import { endDecidedCall } from '../approval/decided-call.ts'
import type { Approvals, DecidedCall } from '../approval/port.ts'
import type { ToolOutcome, ToolTurnContext } from '../tools/tools.ts'
import { formatToolResult } from '../tools/tools.ts'
import type { OpenedMember } from './members/members.ts'
import type { ToolTurn } from './members/tools.ts'
import { createMemberContext } from './members/tools.ts'

interface WaitingCallTurn {
  readonly client: SwarmClient
  readonly turn: Pick<ToolTurn, 'context' | 'findRefusal' | 'emitFiles'>
  /** The transcript as the turn sees it. */
  readonly transcript: TranscriptStore
}

/** Commits the result of the call that the message decides, and the state of each call that still waits, before the member continues. */
export async function commitCallStates(
  deps: { readonly approvals: Approvals; readonly openedMembers: ReadonlyMap<string, OpenedMember> },
  receivedMessage: { readonly message: NormalizedMessage; emit(chunk: AgentChunk): void },
  { client, turn, transcript }: WaitingCallTurn,
): Promise<void> {
  const { approvals, openedMembers } = deps
  const commitResult = async (agentName: string | undefined, id: string, outcome: ToolOutcome, edited?: Json) => {
    const name = agentName ?? client.navigation.active
    // The model knows only the arguments that it wrote.
    const editNote = edited === undefined ? '' : `An operator had it run with ${JSON.stringify(edited)}. `
    await client.commits.commitToolOutput(id, editNote + formatToolResult(outcome), { agentName: name, isForced: true })
  }
  const decidedCall = await approvals.findDecided(receivedMessage.message)
  if (decidedCall) {
    const member = decidedCall.shownAction.agent ?? client.navigation.active
    const tools = openedMembers.get(member)?.tools ?? new Map()
    const deriveContext = (context: ToolTurnContext) => createMemberContext(context, member)
    const { part, outcome } = await endDecidedCall(decidedCall, {
      tools,
      approvals,
      context: turn.context,
      deriveContext,
    })
    receivedMessage.emit((await maySeeResult(decidedCall, part, turn)) ? part : { trace: [part] })
    turn.emitFiles(outcome)
    await commitResult(decidedCall.shownAction.agent, part.id, outcome, decidedCall.edited)
  }
  for (const { agent_key, callId, policy } of listOpenCalls(await transcript.read(client.history.thread))) {
    const question = await approvals.describe(policy)
    if (question) await commitResult(agent_key, callId, question.outcome)
  }
}

/** Returns true if the person who approved a call may see its result, because no policy forbids the text. */
async function maySeeResult(
  { isByOperator }: DecidedCall,
  { args, result, error }: ToolCallPart,
  { findRefusal }: WaitingCallTurn['turn'],
): Promise<boolean> {
  return !isByOperator && (await findRefusal(JSON.stringify([args, result, error]))) === undefined
}

interface OpenCall {
  readonly agent_key: string | undefined
  readonly callId: string
  readonly policy: Policy
}

function listOpenCalls(entries: readonly TranscriptEntry[]): readonly OpenCall[] {
  const endedCallIds = new Set(entries.filter(({ kind }) => kind === 'tool_result').map(({ tool }) => tool?.call_id))
  return entries.flatMap(({ kind, tool, agent_key, content }) => {
    if (kind !== 'approval_required' || !tool || endedCallIds.has(tool.call_id) || !('parts' in content)) return []
    return policiesOf(content.parts).map(policy => ({ agent_key, callId: tool.call_id, policy }))
  })
}
