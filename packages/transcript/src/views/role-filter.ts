// Selects the entries that the orchestrator, a manager or a worker of a team may see.
import { type EntryBody, textOfContent } from '../entry/entry.ts'
import type { EntryKind } from '../entry/kind.ts'

/** An agent's part in a team, which determines what the agent sees. It is not the role of a message. */
const teamRoles = ['orchestrator', 'manager', 'worker', 'all'] as const
type TeamRole = (typeof teamRoles)[number]

export interface RoleFilter {
  readonly role: TeamRole
  /** The agent whose `task` begins the turn of a worker. Absent means any agent. */
  readonly agent_key?: string | undefined
  /** The maximum number of messages for an orchestrator (called turns in the format). 0 means none. Default: 8. */
  readonly max_conversation_turns?: number | undefined
  readonly phase_id?: number | undefined
  /** The previous phase. Default: `phase_id - 1`. */
  readonly previous_phase_id?: number | undefined
}

const workerKinds: ReadonlySet<EntryKind> = new Set(['task', 'tool_call', 'tool_result', 'error', 'global_observation'])

type Filter = <Entry extends EntryBody>(entries: readonly Entry[], options: RoleFilter) => readonly Entry[]

const filters: Record<TeamRole, Filter> = {
  all: entries => entries,
  orchestrator(entries, { max_conversation_turns = 8 }) {
    const conversationEntries = entries.filter(({ scope }) => scope === 'conversation')
    return conversationEntries.slice(Math.max(conversationEntries.length - max_conversation_turns, 0))
  },
  manager(entries, options) {
    const phase = findPreviousPhase(options)
    return phase === undefined ? [] : entries.filter(({ kind, phase_id }) => kind === 'synthesis' && phase_id === phase)
  },
  worker(entries, { agent_key }) {
    const isOwnEntry = (entry: EntryBody) => agent_key === undefined || entry.agent_key === agent_key
    const start = entries.findLast(entry => entry.kind === 'task' && isOwnEntry(entry))
    if (!start) return []
    const turn = entries.filter(entry => isAfter(entry, start) && workerKinds.has(entry.kind))
    return turn.filter(entry => entry.kind === 'global_observation' || isOwnEntry(entry))
  },
}

/**
 * Selects the history that one role of a team may see. A worker's turn begins with its own last `task` in the order of the transcript,
 * regardless of the order of the list. Broadcasts of earlier turns are omitted.
 */
export function filterByRole<Entry extends EntryBody>(
  entries: readonly Entry[],
  options: RoleFilter,
): readonly Entry[] {
  return filters[options.role](entries, options)
}

export interface CompletionCheck {
  /** The agent of the turn. If it is absent, the last `task` of any agent begins the turn. */
  readonly agent_key?: string | undefined
}

const endWords = /completed|success|done|finished|task complete/i

/** Returns true if the current turn is complete. Its last ten entries then contain the tool `complete_task`, or a final text that says so. */
export function isTurnComplete(entries: readonly EntryBody[], { agent_key }: CompletionCheck = {}): boolean {
  const ownEntries = entries.filter(entry => agent_key === undefined || entry.agent_key === agent_key)
  const start = ownEntries.findLastIndex(({ kind }) => kind === 'task')
  return ownEntries
    .slice(start + 1)
    .slice(-10)
    .some(isEnd)
}

function isEnd({ kind, tool, content }: EntryBody): boolean {
  if (kind === 'tool_call') return tool?.name === 'complete_task'
  return kind === 'final' && endWords.test(textOfContent(content))
}

function findPreviousPhase({ phase_id, previous_phase_id }: RoleFilter): number | undefined {
  if (previous_phase_id !== undefined) return previous_phase_id
  return phase_id !== undefined && phase_id > 0 ? phase_id - 1 : undefined
}

/** Returns true if an entry follows `start`. `seq` determines the order. Entries without `seq` have the order of the list. */
function isAfter(entry: EntryBody, start: EntryBody): boolean {
  const [position, startPosition] = [seqOf(entry), seqOf(start)]
  return position === undefined || startPosition === undefined ? entry.at >= start.at : position >= startPosition
}

function seqOf(entry: EntryBody & { readonly seq?: number | undefined }): number | undefined {
  return entry.seq
}
