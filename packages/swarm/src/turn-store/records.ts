import type { AgentCallOptions, AgentContext, AgentState, Json, NormalizedMessage, Platform } from '@postern/core'
import { parseJsonText, Rejection, subjectOf } from '@postern/core'
import type { RecordKey, RecordStore, RecordTies } from '@postern/transcript'
import { kindOfItems } from '../data/context.ts'

const dataKinds: ReadonlySet<string> = new Set(['swarm-state', 'swarm-storage', 'swarm-compute'])

interface RecordTurn {
  readonly kept: TurnState
  readonly message: Pick<NormalizedMessage, 'sender' | 'received_via'>
  readonly tieShared: TieShared
}

/**
 * The record store as one turn sees it. The active agent and the conversation's data are written with the answer, so a failed turn changes
 * nothing. Shared data is written at once. Bans concern a person in all their conversations.
 */
export function createTurnRecords(records: RecordStore, { kept, message, tieShared }: RecordTurn): RecordStore {
  const { sender, received_via } = message
  const subject = subjectOf(sender)
  const person = `${received_via} ${sender.address.toLowerCase()}`
  let version = 1

  function placeOf(place: RecordKey): RecordKey {
    if (place.kind !== 'swarm-ban') return place
    const [swarmName, policyName] = parseJsonText(place.key) as readonly string[]
    return { ...place, key: JSON.stringify([swarmName, policyName, subject]) }
  }

  function tie(place: RecordKey) {
    return place.kind === 'swarm-ban' ? { person } : tieShared(place)
  }

  function find(place: RecordKey): Json | undefined {
    return place.kind === navigationKind ? kept.navigation : kept.findData(nameData(place))
  }

  function keep(place: RecordKey, value: Json): void {
    version += 1
    if (place.kind === navigationKind) kept.keepNavigation(value)
    else kept.keepData(nameData(place), value)
  }

  return {
    ...records,
    async get(place) {
      if (!isKept(place)) return records.get(placeOf(place))
      const value = find(place)
      return value === undefined ? undefined : { key: place.key, value, version }
    },
    async put(place, value) {
      if (isKept(place)) keep(place, value)
      else await records.put(placeOf(place), value)
    },
    async insert(place, value) {
      if (!isKept(place)) return records.insert(placeOf(place), value, tie(place))
      if (find(place) !== undefined) return false
      keep(place, value)
      return true
    },
    async swap(place, expected, value) {
      if (!isKept(place)) return records.swap(placeOf(place), expected, value, tieShared(place))
      if (find(place) === undefined || expected !== version) return false
      keep(place, value)
      return true
    },
    async remove(place) {
      if (isKept(place)) kept.keepData(nameData(place), undefined)
      else await records.remove(placeOf(place))
    },
  }
}

const navigationKind = 'swarm-navigation'

function isKept({ kind }: RecordKey): boolean {
  return kind === navigationKind || dataKinds.has(kind)
}

/** Within one conversation the swarm and its client are always the same. */
function nameData({ kind, key }: RecordKey): string {
  const [, name] = parseJsonText(key) as readonly string[]
  return `${kind} ${name}`
}

/** The ties of a record that all conversations share; undefined for other records. */
type TieShared = (place: RecordKey) => RecordTies | undefined

interface Keeping {
  readonly keep_days: number
  readonly forgets: boolean
}

/** The configuration of the data that all conversations share. */
interface SharedDataConfig {
  readonly states: Readonly<Record<string, Keeping>>
  readonly storages: Readonly<Record<string, Keeping>>
  readonly data_limits: { readonly shared_records: number; readonly shared_bytes: number }
}

const dayMs = 24 * 3_600_000
/** It is computed again on demand, so it keeps nothing of its sources. */
const computeKeeping: Keeping = { keep_days: 365, forgets: true }

/** Data written in somebody's turn is removed with their message, unless it belongs to the gateway, or after nobody has written it for long. */
export function createSharedTies(
  { states, storages, data_limits }: SharedDataConfig,
  { messageNumber }: Pick<AgentContext, 'messageNumber'>,
  { now }: Pick<Platform, 'now'>,
): TieShared {
  const items = new Map(Object.entries(storages).map(([name, keeping]) => [kindOfItems(name), keeping]))
  const values = new Map(Object.entries(states))
  const most = { records: data_limits.shared_records, bytes: data_limits.shared_bytes }

  function findKeeping({ kind, key }: RecordKey): Keeping | undefined {
    if (kind === 'swarm-shared-state') return values.get(readName(key))
    return kind === 'swarm-shared-compute' ? computeKeeping : items.get(kind)
  }

  return place => {
    const keeping = findKeeping(place)
    if (!keeping) return undefined
    const message = keeping.forgets ? messageNumber : undefined
    return { most, until: now() + keeping.keep_days * dayMs, ...(message !== undefined && { message }) }
  }
}

function readName(key: string): string {
  const [, name] = parseJsonText(key) as readonly string[]
  return name ?? ''
}

export type Continuation = Pick<AgentCallOptions, 'contextId' | 'taskId'>

interface KeptState {
  /** The active agent and the path to it. */
  readonly navigation?: Json | undefined
  /** Where conversations of remote members continue. */
  readonly remotes?: Readonly<Record<string, Continuation>> | undefined
  /** What members' tools keep; one state for all of them. */
  readonly tools?: Json | undefined
  /** States, storages and computes of the conversation, by kind and name. */
  readonly data?: Readonly<Record<string, Json>> | undefined
}

/** What a swarm keeps for a conversation. It is in its agent's state, so it is written with the answer or not at all. */
export interface TurnState {
  readonly navigation: Json | undefined
  keepNavigation(value: Json): void
  findRemote(member: string): Continuation | undefined
  keepRemote(member: string, continuation: Continuation): void
  findData(name: string): Json | undefined
  /** `undefined` removes it. @throws Rejection too_large */
  keepData(name: string, value: Json | undefined): void
  /** `context.state` of tools. */
  readonly ofTools: AgentState
}

/** `maxBytes` limits all that tools keep. */
export async function openTurnState(state: AgentState, maxBytes: number): Promise<TurnState> {
  let kept = ((await state.get()) ?? {}) as KeptState
  function keep(change: KeptState): void {
    kept = { ...kept, ...change }
    state.set(parseJsonText(JSON.stringify(kept)) as Json)
  }

  /** A change that makes it smaller is always allowed. @throws Rejection too_large */
  function keepOfTools(change: Pick<KeptState, 'tools' | 'data'>): void {
    const { tools, data } = kept
    const bytes = countBytes({ tools, data, ...change })
    if (bytes > maxBytes && bytes > countBytes({ tools, data })) {
      throw new Rejection('too_large', `Cannot keep: the conversation would have more than ${maxBytes} bytes`)
    }
    keep(change)
  }
  return {
    get navigation() {
      return kept.navigation
    },
    keepNavigation: navigation => keep({ navigation }),
    ofTools: { get: async () => kept.tools, set: tools => keepOfTools({ tools }) },
    findData: name => kept.data?.[name],
    keepData(name, value) {
      const { [name]: _, ...others } = kept.data ?? {}
      keepOfTools({ data: value === undefined ? others : { ...others, [name]: value } })
    },
    findRemote: member => kept.remotes?.[member],
    keepRemote: (member, continuation) => keep({ remotes: { ...kept.remotes, [member]: continuation } }),
  }
}

function countBytes(kept: Pick<KeptState, 'tools' | 'data'>): number {
  return Buffer.byteLength(JSON.stringify(kept))
}
