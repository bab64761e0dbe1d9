// Compares the messages of a client with the stored conversation.
import type { Message, ResumeEntry, RunAgentInput, ToolMessage, UserMessage } from '@ag-ui/core'
import type { TranscriptEntry } from '@postern/transcript'
import { messageIdOf } from '@postern/transcript'

/** The new content of a run. The gateway does not trust the other messages of the client's copy. */
export interface RunNews {
  /** The new messages of the person, oldest first. */
  readonly userMessages: readonly UserMessage[]
  /** The results of calls that were left to the client. */
  readonly toolResults: readonly (ToolMessage & { readonly call: NonNullable<TranscriptEntry['tool']> })[]
  readonly resume: readonly ResumeEntry[]
  /** The ids of the client's messages that are stored already, or that precede a stored one. */
  readonly formerIds: ReadonlySet<string>
  readonly warnings: readonly string[]
}

/**
 * Compares the client's messages with `recentEntries`, the newest entries of the thread. Messages with a stored id are known.
 * Messages that claim to be of the agent or the gateway are ignored. This function is pure.
 */
export function reconcileRun(
  { messages, resume = [] }: RunAgentInput,
  recentEntries: readonly TranscriptEntry[],
): RunNews {
  const messageIds = new Set(recentEntries.map(messageIdOf))
  const pendingCalls = findPendingCalls(recentEntries)
  const callIds = new Set(recentEntries.flatMap(({ tool }) => tool?.call_id ?? []))
  const lastKnownIndex = messages.findLastIndex(({ id }) => messageIds.has(id))
  const newMessages = messages.slice(lastKnownIndex + 1).filter(({ id }) => !messageIds.has(id))
  const toolResults = selectFirstResults(messages.filter(message => message.role === 'tool')).flatMap(message => {
    const call = pendingCalls.get(message.toolCallId)
    return call ? [{ ...message, call }] : []
  })
  return {
    userMessages: newMessages.filter(message => message.role === 'user'),
    toolResults,
    resume,
    formerIds: listFormerIds(messages, [...newMessages, ...toolResults]),
    warnings: describeIgnoredMessages(
      newMessages.filter(message => !belongsToKnownAnswer(message, messageIds, callIds)),
    ),
  }
}

function listFormerIds(messages: readonly Message[], newMessages: readonly Message[]): ReadonlySet<string> {
  const ids = new Set(newMessages.map(({ id }) => id))
  return new Set(messages.flatMap(({ id }) => (ids.has(id) ? [] : id)))
}

function selectFirstResults(messages: readonly ToolMessage[]): readonly ToolMessage[] {
  const seenIds = new Set<string>()
  return messages.filter(({ toolCallId }) => !seenIds.has(toolCallId) && seenIds.add(toolCallId))
}

/** Finds calls that the client runs, by id: in a complete answer, without a result, and without an open approval. */
function findPendingCalls(
  entries: readonly TranscriptEntry[],
): ReadonlyMap<string, NonNullable<TranscriptEntry['tool']>> {
  const pendingCalls = new Map<string, NonNullable<TranscriptEntry['tool']>>()
  for (const entry of entries) {
    const { kind, tool } = entry
    if (kind === 'tool_call' && tool && isInCompleteAnswer(entry)) pendingCalls.set(tool.call_id, tool)
    if ((kind === 'tool_result' || kind === 'approval_required') && tool) pendingCalls.delete(tool.call_id)
  }
  return pendingCalls
}

/** Returns true if an entry belongs to a complete answer, and is not a note, a trace or part of an incomplete answer. */
function isInCompleteAnswer({ ext, is_incomplete }: TranscriptEntry): boolean {
  return !ext?.store && ext?.normalized?.of !== 0 && !is_incomplete
}

/** Returns true if a message is a part of a known answer. A client may have named a call itself, or may have received text of an earlier attempt. */
function belongsToKnownAnswer(
  message: Message,
  messageIds: ReadonlySet<string>,
  callIds: ReadonlySet<string>,
): boolean {
  if (message.role !== 'assistant') return false
  const { id, toolCalls = [] } = message
  if (messageIds.has(id.replace(/-\d+$/, ''))) return true
  return toolCalls.length > 0 && toolCalls.every(call => callIds.has(call.id))
}

const claimedRoles: ReadonlySet<string> = new Set(['assistant', 'system', 'developer', 'reasoning', 'activity'])

function describeIgnoredMessages(messages: readonly Message[]): readonly string[] {
  const count = messages.filter(({ role }) => claimedRoles.has(role)).length
  return count === 0 ? [] : [`${count} messages of other roles are not known and were left out`]
}
