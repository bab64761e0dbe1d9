import type { Json, NormalizedMessage, NormalizedResponse, Part, ToolCallPart } from '@postern/core'
import type { EntryRun } from '../codec/runs.ts'
import { isCallEntry, resultOfEntry } from '../codec/tool-entry.ts'
import { type EntryBody, textOfContent } from '../entry/entry.ts'
import { questionKinds } from '../entry/kind.ts'
import { readEntryUsage } from '../entry/usage.ts'

/** Entries as a message to an agent if a user speaks, else as an answer; from their canonical members alone. */
export function writeNormalized(run: EntryRun): NormalizedMessage | NormalizedResponse {
  return run[0].role === 'user' ? writeInbound(run) : writeAnswer(run)
}

function writeInbound(run: EntryRun): NormalizedMessage {
  const [head] = run
  const { address = '', display_name } = head.author ?? {}
  return {
    id: head.native_id ?? head.entry_id,
    thread_id: head.thread_id,
    sender: { address, auth_method: 'none', verified: false, ...(display_name !== undefined && { display_name }) },
    recipient: head.agent_key ?? '',
    parts: writeParts(run),
    recipient_capabilities: { mention_relay: { kind: 'none' } },
    received_via: 'web',
    received_at: head.at,
    raw: null,
    ...(head.kind === 'activity' && { kind: 'edit' as const }),
  }
}

function writeAnswer(run: EntryRun): NormalizedResponse {
  const [head] = run
  const parts = writeParts(run)
  const usage = readEntryUsage(run.find(entry => entry.usage !== undefined)?.usage)
  return {
    id: head.native_id ?? head.entry_id,
    thread_id: head.thread_id,
    in_reply_to: '',
    sender: head.author?.address ?? head.agent_key ?? '',
    parts: parts.length > 0 ? parts : [{ kind: 'text', mime: 'text/plain', content: '' }],
    status: questionKinds.has(head.kind) ? 'input_required' : 'completed',
    ...(usage && { usage }),
    created_at: head.at,
  }
}

/** A call and its end in one run are one part. */
function writeParts(run: EntryRun): Part[] {
  const parts: Part[] = []
  for (const entry of run) {
    const { tool, kind, content } = entry
    if (isCallEntry(entry) && tool) parts.push(writeCallPart(entry))
    else if (kind === 'tool_result' && tool) endCallPart(parts, entry)
    else if ('parts' in content) parts.push(...content.parts)
    else parts.push({ kind: 'text', mime: 'text/plain', content: textOfContent(content) })
  }
  return parts
}

function writeCallPart({ tool, kind }: EntryBody): ToolCallPart {
  return { kind: 'tool_call', id: tool?.call_id ?? '', name: tool?.name ?? kind, args: tool?.args ?? {} }
}

function endCallPart(parts: Part[], entry: EntryBody): void {
  const { tool } = entry
  const begun = parts.findIndex(part => part.kind === 'tool_call' && part.id === tool?.call_id)
  const call = (begun < 0 ? writeCallPart(entry) : parts[begun]) as ToolCallPart
  const ended: ToolCallPart = { ...call, ...endOf(entry) }
  if (begun < 0) parts.push(ended)
  else parts[begun] = ended
}

function endOf(entry: EntryBody): { result?: Json; error?: { message: string } } {
  const { tool } = entry
  const isFailed = tool?.error !== undefined
  if (!isFailed) return { result: resultOfEntry(entry) }
  return { error: { message: tool?.error?.message ?? '' }, ...(tool?.result !== undefined && { result: tool.result }) }
}
