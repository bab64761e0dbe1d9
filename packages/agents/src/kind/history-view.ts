// Selects the part of a conversation's past that an agent gets, by role or as in a swarm.
import type { Json, Part, ToolCallPart } from '@postern/message'
import { isJsonObject } from '@postern/message'
import type { Entry, HistoryMoment, HistoryPolicy, SlidingWindowOptions, StoredNote } from '@postern/pipeline'
import { createSlidingWindowPolicy } from '@postern/pipeline'
import type { TranscriptEntry, ViewConfig } from '@postern/transcript'
import { buildHistory, contentOfText, scopeOfKind } from '@postern/transcript'

/** The views of a conversation's past: the sliding window, and those of message stores and of swarms. */
export const historyViews = ['sliding', 'role:orchestrator', 'role:manager', 'role:worker', 'swarm'] as const
type HistoryViewName = (typeof historyViews)[number]

interface HistoryViewOptions extends SlidingWindowOptions {
  readonly view: HistoryViewName
  /** The maximum number of messages that the view keeps; default: 8 for an orchestrator, 15 for `swarm`. */
  readonly keep?: number | undefined
}

interface HistoryViewDefinition {
  /** True if the view also reads notes. */
  readonly includesNotes?: true
  /** See `HistoryPolicy`. */
  readonly synthesizes?: true
  configure(keep: number | undefined, turn: HistoryMoment): ViewConfig
}

const views: Readonly<Record<Exclude<HistoryViewName, 'sliding'>, HistoryViewDefinition>> = {
  'role:orchestrator': {
    configure: keep => ({ role: { role: 'orchestrator', max_conversation_turns: keep } }),
  },
  'role:manager': {
    includesNotes: true,
    synthesizes: true,
    configure: (_, { phase_id, previous_phase_id }) => ({ role: { role: 'manager', phase_id, previous_phase_id } }),
  },
  'role:worker': {
    includesNotes: true,
    configure: (_, { agent: agent_key }) => ({
      scope: { kind: 'store', scopes: ['agent', 'global'], agent_key },
      role: { role: 'worker', agent_key },
    }),
  },
  swarm: {
    configure: (keep = 15) => ({ window: keep, pairs: 'after-window' }),
  },
}

/** The thread id of entries, which no view reads. */
const placeholderThreadId = 'thread'

/** The maximum number of entries and notes that a view reads. */
const maxEntries = 400

/** Creates the policy for a view. The sliding window is the last step of every view and trims the result by turns. */
export function createHistoryView({ view, keep, ...window }: HistoryViewOptions): HistoryPolicy {
  if (view === 'sliding') return createSlidingWindowPolicy(window)
  // A view has no head of its own, so only its end is kept.
  const slidingWindow = createSlidingWindowPolicy({ ...window, keepHead: 0 })
  const { includesNotes, synthesizes, configure } = views[view]
  return {
    reach: { head: 0, tail: maxEntries },
    ...(includesNotes && { noteReach: maxEntries }),
    ...(synthesizes && { synthesizes }),
    view(entries, turn = { agent: '', notes: [] }) {
      return buildHistory(orderEntries(entries, turn), configure(keep, turn), slidingWindow)
    },
  }
}

/** Notes of a turn follow the message that the turn answers. If that message is missing, they come first. */
function orderEntries(entries: readonly Entry[], { agent, notes }: HistoryMoment): readonly TranscriptEntry[] {
  const notesByMessage = Map.groupBy(notes, ({ message }) => message)
  const entrySeqs = new Set(entries.map(({ seq }) => seq))
  const orderedEntries = [
    ...notes.filter(({ message }) => !entrySeqs.has(message)).map(toNoteEntry),
    ...entries.flatMap(entry => [
      ...toTranscriptEntries(entry, agent),
      ...(entry.role === 'user' ? (notesByMessage.get(entry.seq) ?? []) : []).map(toNoteEntry),
    ]),
  ]
  return orderedEntries.map((entry, index) => ({ ...entry, seq: index + 1 }))
}

function toNoteEntry({ seq, entryId, at, body }: StoredNote): TranscriptEntry {
  const entry = body as unknown as Omit<TranscriptEntry, 'seq' | 'entry_id' | 'thread_id' | 'at'>
  return { ...entry, seq, entry_id: entryId, thread_id: placeholderThreadId, at }
}

/** Converts a message to the form of the transcript: its text, and each call with its end. It counts as one message in every view. */
function toTranscriptEntries(
  { seq, entryId, nativeId, role, author, parts, at }: Entry,
  agent: string,
): readonly TranscriptEntry[] {
  const commonMembers = {
    seq,
    thread_id: placeholderThreadId,
    author,
    at: new Date(at).toISOString(),
    group_id: entryId,
    ...(role === 'assistant' && { agent_key: agent }),
  } as const
  const contentParts = parts.filter(part => part.kind !== 'tool_call')
  const calls = parts.filter(part => part.kind === 'tool_call').flatMap(toCallEntries)
  const textEntry = {
    kind: 'text',
    role,
    scope: scopeOfKind('text', role),
    content: { parts: contentParts as Part[] },
  } as const
  const newEntries = contentParts.length > 0 ? [...calls, textEntry] : calls
  return newEntries.map((entry, index) => {
    const isLast = index === newEntries.length - 1
    return {
      entry_id: isLast ? entryId : `${entryId}.${index}`,
      ...(isLast && nativeId && { native_id: nativeId }),
      ...commonMembers,
      ...entry,
    }
  })
}

function toCallEntries({ id: call_id, name, args, result, error }: ToolCallPart) {
  const content = contentOfText('')
  const tool = { call_id, name, args: isJsonObject(args) ? (args as Record<string, Json>) : {} }
  const call = { kind: 'tool_call', role: 'assistant', scope: 'agent', content, tool } as const
  if (result === undefined && !error) return [call]
  const resultTool = { call_id, name, ...(error ? { error } : { result: result as Json }) }
  return [call, { kind: 'tool_result', role: 'tool', scope: 'agent', content, tool: resultTool } as const]
}
