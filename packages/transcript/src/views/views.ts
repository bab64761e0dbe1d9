import type { CodecFinding } from '../codec/codec.ts'
import { repairPairs } from '../codec/pair-repair.ts'
import { isCallEntry } from '../codec/tool-entry.ts'
import type { EntryBody, TranscriptEntry } from '../entry/entry.ts'
import { contentIsEmpty } from '../entry/entry.ts'
import type { EntryKind, TranscriptScope } from '../entry/kind.ts'
import { splitMessages } from '../entry/place-entries.ts'
import { filterByRole, type RoleFilter } from './role-filter.ts'

/** Whose entries an agent may see: all; the views of a message store (its own work, its team's work); or the shared and own ones of a swarm. */
type ViewScope =
  | { readonly kind: 'all' }
  | {
      readonly kind: 'store'
      readonly scopes: readonly TranscriptScope[]
      readonly agent_key?: string | undefined
      readonly team?: readonly string[] | undefined
    }
  | { readonly kind: 'swarm'; readonly agent_key: string }

/** One agent's view of a thread, as data. The steps are always the same; this sets each one. */
export interface ViewConfig {
  /** Default `all`. */
  readonly scope?: ViewScope | undefined
  /** The filter of message stores. Default none. */
  readonly role?: RoleFilter | undefined
  /** Calls without a result and results without a call: removed before and after the window, only after it (swarms), or kept. */
  readonly pairs?: 'repair' | 'after-window' | 'keep' | undefined
  /** The newest messages, this many (one with several calls counts once); 0 is none. Default all. */
  readonly window?: number | undefined
  /** Kinds that only matter while they happen, or that mark a position. Default these kinds. */
  readonly hides?: ReadonlySet<EntryKind> | undefined
  readonly report?: ((finding: CodecFinding) => void) | undefined
}

const hiddenKinds: ReadonlySet<EntryKind> = new Set(['delta', 'reasoning', 'activity', 'flush', 'rescue'])

/** `entries` of one thread, ascending, as `config` lets an agent see them: scope, cut, role, pairs, window. Pure. */
export function viewEntries(entries: readonly TranscriptEntry[], config: ViewConfig = {}): readonly TranscriptEntry[] {
  const { pairs = 'repair', hides = hiddenKinds, report } = config
  const scoped = selectScope(cutAtMarker(entries), config.scope ?? { kind: 'all' }).filter(
    ({ kind }) => !hides.has(kind),
  )
  const seen = config.role ? filterByRole(scoped, config.role) : scoped
  const paired = pairs === 'repair' ? repairPairs(seen, report) : seen
  const recent = takeWindow(paired, config.window)
  return pairs === 'keep' ? recent : repairPairs(recent, pairs === 'after-window' ? report : undefined)
}

/** The entries after the last flush or rescue. A marker is for all agents of the thread, so this comes before the scope. */
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

/** Users, developers and plain text of any assistant are shared; calls, results and system rows are their agent's. */
function selectSwarm(entries: readonly TranscriptEntry[], agent_key: string): readonly TranscriptEntry[] {
  return splitMessages(entries).flatMap(message => {
    const isOwn = message.some(isOwnEntry)
    const isSeen = !isOwn || message[0]?.agent_key === agent_key
    return isSeen && !message.every(isEmpty) ? message : []
  })
}

/** An agent's actions and thoughts are its own. Developers' text, questions, and a row in the user's place are shared. */
function isOwnEntry(entry: EntryBody): boolean {
  const isShared = sharedKinds.has(entry.kind) || entry.native_role === 'user'
  return isCallEntry(entry) || (entry.scope === 'agent' && !isShared)
}

const sharedKinds: ReadonlySet<EntryKind> = new Set(['developer', 'input_required', 'policy'])

function isEmpty({ tool, content }: EntryBody): boolean {
  return tool === undefined && contentIsEmpty(content)
}

function takeWindow(entries: readonly TranscriptEntry[], window: number | undefined): readonly TranscriptEntry[] {
  if (window === undefined) return entries
  const messages = splitMessages(entries)
  return messages.slice(Math.max(messages.length - window, 0)).flat()
}
