// Gives each call of a swarm that asked for approval its result or state before its member continues.
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

interface AskedTurn {
  readonly client: SwarmClient
  readonly turn: Pick<ToolTurn, 'context' | 'findRefusal' | 'tellFiles'>
  /** The transcript as the turn sees it. */
  readonly transcript: TranscriptStore
}

/** Gives every call that asked for approval its result or its state before its member continues. */
export async function endAskedCalls(
  deps: { readonly approvals: Approvals; readonly opened: ReadonlyMap<string, OpenedMember> },
  heard: { readonly message: NormalizedMessage; tell(chunk: AgentChunk): void },
  { client, turn, transcript }: AskedTurn,
): Promise<void> {
  const { approvals, opened } = deps
  const end = async (agentName: string | undefined, id: string, outcome: ToolOutcome, edited?: Json) => {
    const name = agentName ?? client.navigation.active
    // The model knows only the arguments that it wrote.
    const changed = edited === undefined ? '' : `An operator had it run with ${JSON.stringify(edited)}. `
    await client.commits.commitToolOutput(id, changed + formatToolResult(outcome), { agentName: name, isForced: true })
  }
  const decided = await approvals.findDecided(heard.message)
  if (decided) {
    const member = decided.shown.agent ?? client.navigation.active
    const tools = opened.get(member)?.tools ?? new Map()
    const enter = (context: ToolTurnContext) => createMemberContext(context, member)
    const { part, outcome } = await endDecidedCall(decided, { tools, approvals, context: turn.context, enter })
    heard.tell((await maySee(decided, part, turn)) ? part : { trace: [part] })
    turn.tellFiles(outcome)
    await end(decided.shown.agent, part.id, outcome, decided.edited)
  }
  for (const { agent_key, callId, policy } of listOpenCalls(await transcript.read(client.history.thread))) {
    const asked = await approvals.describe(policy)
    if (asked) await end(agent_key, callId, asked.outcome)
  }
}

/** Returns true if the person who approved a call may see its result, because no policy forbids the text. */
async function maySee(
  { isOfOperator }: DecidedCall,
  { args, result, error }: ToolCallPart,
  { findRefusal }: AskedTurn['turn'],
): Promise<boolean> {
  return !isOfOperator && (await findRefusal(JSON.stringify([args, result, error]))) === undefined
}

interface OpenCall {
  readonly agent_key: string | undefined
  readonly callId: string
  readonly policy: Policy
}

function listOpenCalls(entries: readonly TranscriptEntry[]): readonly OpenCall[] {
  const ended = new Set(entries.filter(({ kind }) => kind === 'tool_result').map(({ tool }) => tool?.call_id))
  return entries.flatMap(({ kind, tool, agent_key, content }) => {
    if (kind !== 'approval_required' || !tool || ended.has(tool.call_id) || !('parts' in content)) return []
    return policiesOf(content.parts).map(policy => ({ agent_key, callId: tool.call_id, policy }))
  })
}
