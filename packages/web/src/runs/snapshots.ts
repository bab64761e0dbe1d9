// Sends a client the messages of a conversation that it lacks or has changed.
import type { Message } from '@ag-ui/core'
import type { TranscriptEntry } from '@postern/transcript'
import { messageIdOf } from '@postern/transcript'
import type { WebDeps } from '../endpoint.ts'
import { isEarlierClient } from '../events/earlier-clients.ts'
import { writeToolResult } from '../events/work-events.ts'
import { addLinks, showHistory } from '../history/show-history.ts'
import type { RunNews } from '../input/reconcile-run.ts'
import type { RequestedRun } from '../resolve.ts'
import { readRecentEntries } from '../resolve.ts'
import type { RunReference } from './stream-run.ts'

interface SnapshotContent {
  readonly recentEntries: readonly TranscriptEntry[]
  readonly userMessages: RunNews['userMessages']
  readonly isJoined: boolean
}

interface SnapshotMessage {
  readonly id: string
  readonly role: string
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
}

/**
 * Returns the snapshots for a client that lacks stored messages. A client keeps known messages at their positions. So the first snapshot leaves out
 * the new messages, to place them after the older ones.
 */
export async function createSnapshots(
  request: RequestedRun,
  { recentEntries, userMessages, isJoined }: SnapshotContent,
  deps: WebDeps,
): Promise<readonly (readonly object[])[]> {
  const storedEntries = recentEntries.filter(({ chat_seq }) => chat_seq !== undefined)
  const sentIds = new Set(request.input.messages.map(({ id }) => id))
  if (storedEntries.every(entry => sentIds.has(messageIdOf(entry)))) return []
  const messages = await showMessages(request, storedEntries, { isJoined, deps })
  return userMessages.length === 0 ? [messages] : [messages, [...messages, ...userMessages]]
}

/** Returns the conversation after a run: its history, the calls of the run, and the calls and results that the client already had. */
export async function createFinalSnapshot(request: RunReference, deps: WebDeps): Promise<readonly SnapshotMessage[]> {
  const { input } = request
  const { conversation, recentEntries } = await readRecentEntries(request, deps)
  const runEntries = recentEntries.filter(
    entry => entry.chat_seq !== undefined || isCallOfRun(entry, input.runId, deps),
  )
  const messages = await showMessages(request, runEntries, { isJoined: conversation?.joined !== undefined, deps })
  const callEntries = new Map(
    runEntries.filter(({ chat_seq }) => chat_seq === undefined).map(entry => [messageIdOf(entry), entry]),
  )
  const messagesWithCalls = messages.map(message => writeCall(callEntries.get(message.id)) ?? message)
  return withClientCalls(messagesWithCalls, input.messages)
}

/** Returns true for a call or result of this run. The agent's own calls count only if runs show traces. */
function isCallOfRun({ kind, run_id, role, ext }: TranscriptEntry, runId: string, { config }: WebDeps): boolean {
  if (run_id !== runId || role === 'user' || ext?.store) return false
  const isCall = kind === 'tool_call' || kind === 'tool_result'
  return isCall && (config.trace || ext?.normalized?.of !== 0)
}

function writeCall(entry: TranscriptEntry | undefined): SnapshotMessage | undefined {
  const { tool, kind } = entry ?? {}
  if (!entry || !tool) return undefined
  const id = messageIdOf(entry)
  if (kind === 'tool_call') {
    const functionCall = { name: tool.name ?? '', arguments: JSON.stringify(tool.args ?? {}) }
    return {
      id,
      role: 'assistant',
      toolCalls: [{ id: tool.call_id, type: 'function', function: functionCall }],
    } as SnapshotMessage
  }
  const { toolCallId, role, content } = writeToolResult({ ...tool, id: tool.call_id })
  return { id, role, toolCallId, content } as SnapshotMessage
}

/** Inserts the client's own calls and results after the same messages as in the client's copy. */
function withClientCalls(
  snapshotMessages: readonly SnapshotMessage[],
  messages: readonly Message[],
): readonly SnapshotMessage[] {
  const ids = new Set(snapshotMessages.map(({ id }) => id))
  const messagesAfter = new Map<string | undefined, Message[]>()
  let lastKnownId: string | undefined
  for (const message of messages) {
    if (ids.has(message.id)) lastKnownId = message.id
    else if (isCallMessage(message))
      messagesAfter.set(lastKnownId, [...(messagesAfter.get(lastKnownId) ?? []), message])
  }
  return [
    ...(messagesAfter.get(undefined) ?? []),
    ...snapshotMessages.flatMap(message => [message, ...(messagesAfter.get(message.id) ?? [])]),
  ]
}

function isCallMessage(message: Message): boolean {
  return message.role === 'tool' || (message.role === 'assistant' && (message.toolCalls?.length ?? 0) > 0)
}

interface ShowMessagesOptions {
  readonly isJoined: boolean
  readonly deps: WebDeps
}

async function showMessages(
  { owner, input }: RunReference,
  entries: readonly TranscriptEntry[],
  { isJoined, deps }: ShowMessagesOptions,
): Promise<readonly SnapshotMessage[]> {
  const messages = await showHistory(entries, { owner: owner.owner, isJoined }, deps)
  return messages.map(({ id, role, name, content, metadata }) => ({
    id,
    role,
    ...(name && { name }),
    content: isEarlierClient(input) ? addLinks(content, metadata) : content,
    metadata,
  }))
}
