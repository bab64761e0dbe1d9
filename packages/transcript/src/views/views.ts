// Selects the entries of a thread that an agent may see, by scope, role, tool pairs and window.
import type { Json, Part } from '@postern/message'
import type { Entry, HistoryPolicy, HistoryView } from '@postern/pipeline'
import { createSlidingWindowPolicy } from '@postern/pipeline'
import type { CodecFinding } from '../codec/dialect.ts'
import { isCallEntry, repairPairs, resultOfEntry } from '../codec/tool-entry.ts'
import type { EntryBody, EntryWait, TranscriptEntry } from '../entry/entry.ts'
import { contentIsEmpty, textOfContent } from '../entry/entry.ts'
import type { EntryKind, EntryScope } from '../entry/kind.ts'
import { splitMessages } from '../entry/numbered-entries.ts'
import type { RoleFilter } from './role-filter.ts'
import { filterByRole } from './role-filter.ts'

/** The entries that an agent may see. They are all entries, a view of a message store, or the shared entries and the agent's own in a swarm. */
type ViewScope =
  | { readonly kind: 'all' }
  | {
      readonly kind: 'store'
      readonly scopes: readonly EntryScope[]
      readonly agent_key?: string | undefined
      readonly team?: readonly string[] | undefined
    }
  | { readonly kind: 'swarm'; readonly agent_key: string }

/** The configuration of one agent's view of a thread. Each member configures one step of the selection. */
export interface ViewConfig {
  /** The entries that the agent may see. Default: `all`. */
  readonly scope?: ViewScope | undefined
  /** The filter of message stores. Default: none. */
  readonly role?: RoleFilter | undefined
  /** The treatment of calls without a result and results without a call. They are removed before and after the window, only after it, or kept. */
  readonly pairs?: 'repair' | 'after-window' | 'keep' | undefined
  /** The number of newest messages. A message with several calls counts once. 0 means none. Default: all. */
  readonly window?: number | undefined
  /** The kinds to hide. By default, they are the kinds that matter only during a run, or that mark a position. */
  readonly hides?: ReadonlySet<EntryKind> | undefined
  readonly report?: ((finding: CodecFinding) => void) | undefined
}

const hiddenKinds: ReadonlySet<EntryKind> = new Set(['delta', 'reasoning', 'activity', 'flush', 'rescue'])

/** Selects the `entries` of one thread, ascending, that `config` lets an agent see. */
export function viewEntries(entries: readonly TranscriptEntry[], config: ViewConfig = {}): readonly TranscriptEntry[] {
  const { pairs = 'repair', hides = hiddenKinds, report } = config
  const entriesInScope = selectScope(cutAtMarker(entries), config.scope ?? { kind: 'all' }).filter(
    ({ kind }) => !hides.has(kind),
  )
  const visibleEntries = config.role ? filterByRole(entriesInScope, config.role) : entriesInScope
  const pairedEntries = pairs === 'repair' ? repairPairs(visibleEntries, report) : visibleEntries
  const windowEntries = selectWindow(pairedEntries, config.window)
  return pairs === 'keep' ? windowEntries : repairPairs(windowEntries, pairs === 'after-window' ? report : undefined)
}

/** Returns the entries after the last flush or rescue. A marker applies to all agents of the thread, so this step precedes the scope. */
function cutAtMarker(entries: readonly TranscriptEntry[]): readonly TranscriptEntry[] {
  return entries.slice(entries.findLastIndex(({ kind }) => kind === 'flush' || kind === 'rescue') + 1)
}

function selectScope(entries: readonly TranscriptEntry[], scope: ViewScope): readonly TranscriptEntry[] {
  if (scope.kind === 'all') return entries
  if (scope.kind === 'swarm') return selectSwarm(entries, scope.agent_key)
  const team = new Set([scope.agent_key, ...(scope.team ?? [])])
  return entries.filter(entry => {
    return scope.scopes.includes(entry.scope) && (entry.scope !== 'agent' || team.has(entry.agent_key))
  })
}

/**
 * Selects the shared entries and the agent's own. Users, developers and plain text of any assistant are shared; calls, results and system rows
 * belong to their agent.
 */
function selectSwarm(entries: readonly TranscriptEntry[], agent_key: string): readonly TranscriptEntry[] {
  return splitMessages(entries).flatMap(message => {
    const isOwn = message.some(isOwnEntry)
    const isVisible = !isOwn || message[0]?.agent_key === agent_key
    return isVisible && !message.every(isEmpty) ? message : []
  })
}

/** Returns true for an agent's own actions and thoughts. Developers' text, questions, and rows on behalf of the user are shared. */
function isOwnEntry(entry: EntryBody): boolean {
  const isShared = sharedKinds.has(entry.kind) || entry.native_role === 'user'
  return isCallEntry(entry) || (entry.scope === 'agent' && !isShared)
}

const sharedKinds: ReadonlySet<EntryKind> = new Set(['developer', 'input_required', 'policy'])

function isEmpty({ tool, content }: EntryBody): boolean {
  return tool === undefined && contentIsEmpty(content)
}

function selectWindow(entries: readonly TranscriptEntry[], window: number | undefined): readonly TranscriptEntry[] {
  if (window === undefined) return entries
  const messages = splitMessages(entries)
  return messages.slice(Math.max(messages.length - window, 0)).flat()
}

const assistantKinds: ReadonlySet<EntryKind> = new Set(['text', 'final', 'input_required', 'policy', 'synthesis'])
const reportedKinds: ReadonlySet<EntryKind> = new Set(['task', 'global_observation', 'error'])

/**
 * Converts entries to the history of a normalized message: two roles, with a call and its result in one part of the assistant. A task and
 * a global observation are addressed to the agent. Other entries, such as plans, contexts and markers, are omitted.
 */
function toHistoryEntries(entries: readonly TranscriptEntry[]): readonly Entry[] {
  const results = new Map(
    entries.filter(({ kind }) => kind === 'tool_result').map(entry => [entry.tool?.call_id, entry]),
  )
  return entries.flatMap(entry => {
    if (isCallEntry(entry)) return [toEntry(entry, 'assistant', [foldCall(entry, results.get(entry.tool?.call_id))])]
    if (reportedKinds.has(entry.kind) || (entry.kind === 'text' && entry.role === 'user')) {
      return [toEntry(entry, 'user', partsOf(entry))]
    }
    const isSpokenText =
      assistantKinds.has(entry.kind) && (entry.role === 'assistant' || entry.kind === 'input_required')
    return isSpokenText ? [toEntry(entry, 'assistant', partsOf(entry))] : []
  })
}

/** Builds the history that an agent gets of a thread. */
export function buildHistory(
  entries: readonly TranscriptEntry[],
  config: ViewConfig,
  policy: HistoryPolicy = createSlidingWindowPolicy(),
): HistoryView {
  return policy.view(toHistoryEntries(viewEntries(entries, config)))
}

function toEntry(entry: TranscriptEntry, role: Entry['role'], parts: readonly Part[]): Entry {
  const { seq, entry_id, native_id, author, agent_key, at } = entry
  return {
    seq,
    entryId: entry_id,
    nativeId: native_id,
    role,
    author: author ?? { address: agent_key ?? '' },
    parts,
    at,
  }
}

function partsOf({ content }: TranscriptEntry): readonly Part[] {
  if ('parts' in content) return content.parts
  return [{ kind: 'text', mime: 'text/plain', content: textOfContent(content) }]
}

function foldCall({ tool, kind }: TranscriptEntry, result: TranscriptEntry | undefined): Part {
  const call = { kind: 'tool_call', id: tool?.call_id ?? '', name: tool?.name ?? kind, args: tool?.args ?? {} } as const
  if (!result) return call
  const { error } = result.tool ?? {}
  return error ? { ...call, error: { message: error.message } } : { ...call, result: resultOfEntry(result) as Json }
}

export interface OpenWait {
  readonly wait: EntryWait
  readonly entry: TranscriptEntry
}

/**
 * Lists the open waits of a thread, oldest first, which are the same in every view. A later entry with the same id ends a wait. The user's next message
 * ends an `input`, and the expiry ends any wait.
 */
export function listOpenWaits(entries: readonly TranscriptEntry[], nowMs: number): readonly OpenWait[] {
  const openWaits = new Map<string, OpenWait>()
  for (const entry of entries) {
    const { wait } = entry
    if (entry.kind === 'text' && entry.role === 'user') endInputs(openWaits)
    if (wait?.state === 'open') openWaits.set(wait.id, { wait, entry })
    else if (wait) openWaits.delete(wait.id)
  }
  return [...openWaits.values()].filter(
    ({ wait }) => wait.expires_at === undefined || Date.parse(wait.expires_at) > nowMs,
  )
}

/** Finds the latest open question, which the user's next message answers. */
export function findAnsweredQuestion(entries: readonly TranscriptEntry[], nowMs: number): OpenWait | undefined {
  return listOpenWaits(entries, nowMs).findLast(({ wait }) => wait.reason === 'input')
}

function endInputs(openWaits: Map<string, OpenWait>): void {
  for (const [id, { wait }] of openWaits) if (wait.reason === 'input') openWaits.delete(id)
}
