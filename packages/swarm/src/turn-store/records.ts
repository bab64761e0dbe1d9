// Collects a swarm's records during a turn, so that they are written with its answer.
import type { Json, NormalizedMessage, System } from '@postern/message'
import { parseJsonText, Rejection, subjectOf } from '@postern/message'
import type { AgentCallOptions, AgentContext, AgentState } from '@postern/pipeline'
import type { RecordKey, RecordStore, RecordTies } from '@postern/transcript'
import { kindOfEmbeddings, kindOfItems } from '../data/data-context.ts'

const dataKinds: ReadonlySet<string> = new Set(['swarm-state', 'swarm-storage', 'swarm-compute'])

interface RecordTurn {
  readonly turnState: TurnState
  readonly message: Pick<NormalizedMessage, 'sender' | 'received_via'>
  readonly tieShared: TieShared
}

/**
 * Returns the record store as one turn sees it. The active agent and the conversation's data are written with the answer, so a failed turn
 * changes nothing. Shared data is written at once. Bans apply to a person in all their conversations.
 */
export function createTurnRecords(records: RecordStore, { turnState, message, tieShared }: RecordTurn): RecordStore {
  const { sender, received_via } = message
  const subject = subjectOf(sender)
  const person = `${received_via} ${sender.address.toLowerCase()}`
  let version = 1

  function recordKeyOf(recordKey: RecordKey): RecordKey {
    if (recordKey.kind !== 'swarm-ban') return recordKey
    const [swarmName, policyName] = parseJsonText(recordKey.key) as readonly string[]
    return { ...recordKey, key: JSON.stringify([swarmName, policyName, subject]) }
  }

  function findTies(recordKey: RecordKey) {
    return recordKey.kind === 'swarm-ban' ? { person } : tieShared(recordKey)
  }

  function find(recordKey: RecordKey): Json | undefined {
    return recordKey.kind === navigationKind ? turnState.navigation : turnState.findData(nameData(recordKey))
  }

  function storeValue(recordKey: RecordKey, value: Json): void {
    version += 1
    if (recordKey.kind === navigationKind) turnState.storeNavigation(value)
    else turnState.storeData(nameData(recordKey), value)
  }

  return {
    ...records,
    async get(recordKey) {
      if (!isTurnData(recordKey)) return records.get(recordKeyOf(recordKey))
      const value = find(recordKey)
      return value === undefined ? undefined : { key: recordKey.key, value, version }
    },
    async put(recordKey, value) {
      if (isTurnData(recordKey)) storeValue(recordKey, value)
      else await records.put(recordKeyOf(recordKey), value)
    },
    async insert(recordKey, value, ties) {
      if (!isTurnData(recordKey))
        return records.insert(recordKeyOf(recordKey), value, { ...findTies(recordKey), ...ties })
      if (find(recordKey) !== undefined) return false
      storeValue(recordKey, value)
      return true
    },
    async swap(recordKey, expected, value) {
      if (!isTurnData(recordKey)) return records.swap(recordKeyOf(recordKey), expected, value, tieShared(recordKey))
      if (find(recordKey) === undefined || expected !== version) return false
      storeValue(recordKey, value)
      return true
    },
    async remove(recordKey) {
      if (isTurnData(recordKey)) turnState.storeData(nameData(recordKey), undefined)
      else await records.remove(recordKeyOf(recordKey))
    },
  }
}

const navigationKind = 'swarm-navigation'

function isTurnData({ kind }: RecordKey): boolean {
  return kind === navigationKind || dataKinds.has(kind)
}

/** Returns the name of a value within a conversation. It omits the swarm and the client, which are always the same there. */
function nameData({ kind, key }: RecordKey): string {
  const [, name] = parseJsonText(key) as readonly string[]
  return `${kind} ${name}`
}

/** Returns the ties of a record that all conversations share, or undefined for other records. */
type TieShared = (recordKey: RecordKey) => RecordTies | undefined

interface RetentionRule {
  readonly keep_days: number
  readonly forgets: boolean
}

/** The configuration of the data that all conversations share. */
interface SharedDataConfig {
  readonly states: Readonly<Record<string, RetentionRule>>
  readonly storages: Readonly<Record<string, RetentionRule>>
  readonly data_limits: { readonly shared_records: number; readonly shared_bytes: number }
}

const dayMs = 24 * 3_600_000
/** The retention of computed values. They are computed again on demand, so they need not outlive the data that they come from. */
const computedValueRetention: RetentionRule = { keep_days: 365, forgets: true }
const ownEmbeddingRetention: RetentionRule = { keep_days: 30, forgets: true }

/**
 * Creates the function that ties shared data to the message in whose turn it was written, so that it is removed with that message, unless the data
 * belongs to the gateway. Shared data also expires if nobody writes it for a long time.
 */
export function createSharedTies(
  { states, storages, data_limits }: SharedDataConfig,
  { messageNumber }: Pick<AgentContext, 'messageNumber'>,
  { now }: Pick<System, 'now'>,
): TieShared {
  const items = new Map(
    Object.entries(storages).flatMap(([name, retention]) =>
      [kindOfItems(name), kindOfEmbeddings(name, { isShared: true })].map(kind => [kind, retention] as const),
    ),
  )
  const values = new Map(Object.entries(states))
  const quota = { records: data_limits.shared_records, bytes: data_limits.shared_bytes }

  function findRetention({ kind, key }: RecordKey): RetentionRule | undefined {
    if (kind === 'swarm-shared-state') return values.get(readName(key))
    if (kind === 'swarm-shared-storage') return storages[readName(key)]
    if (kind === kindOfEmbeddings('', { isShared: false })) return ownEmbeddingRetention
    return kind === 'swarm-shared-compute' ? computedValueRetention : items.get(kind)
  }

  return recordKey => {
    const retention = findRetention(recordKey)
    if (!retention) return undefined
    const message = retention.forgets ? messageNumber : undefined
    return { quota, expiresAt: now() + retention.keep_days * dayMs, ...(message !== undefined && { message }) }
  }
}

function readName(key: string): string {
  const [, name] = parseJsonText(key) as readonly string[]
  return name ?? ''
}

type Continuation = Pick<AgentCallOptions, 'contextId' | 'taskId'>

interface StoredTurnState {
  /** The active agent and the path to it. */
  readonly navigation?: Json | undefined
  /** The contexts and tasks in which conversations with remote members continue. */
  readonly remotes?: Readonly<Record<string, Continuation>> | undefined
  /** The state of the members' tools, which all of them share. */
  readonly tools?: Json | undefined
  /** The states, storages and computed values of the conversation, by kind and name. */
  readonly data?: Readonly<Record<string, Json>> | undefined
}

/** The state of a swarm for one conversation. It is part of its agent's state, so it is written with the answer or not at all. */
export interface TurnState {
  readonly navigation: Json | undefined
  storeNavigation(value: Json): void
  findRemote(member: string): Continuation | undefined
  storeRemote(member: string, continuation: Continuation): void
  findData(name: string): Json | undefined
  /** Stores a value, or removes it if `value` is undefined. @throws Rejection too_large */
  storeData(name: string, value: Json | undefined): void
  /** The state that tools use as `context.state`. */
  readonly toolState: AgentState
}

/** Opens the state of a turn. `maxBytes` limits all data that tools store. */
export async function openTurnState(state: AgentState, maxBytes: number): Promise<TurnState> {
  let currentState = ((await state.get()) ?? {}) as StoredTurnState
  function storeChange(change: StoredTurnState): void {
    currentState = { ...currentState, ...change }
    state.set(parseJsonText(JSON.stringify(currentState)) as Json)
  }

  /** Stores data of tools. A change that makes it smaller is always allowed. @throws Rejection too_large */
  function storeToolChange(change: Pick<StoredTurnState, 'tools' | 'data'>): void {
    const { tools, data } = currentState
    const bytes = countBytes({ tools, data, ...change })
    if (bytes > maxBytes && bytes > countBytes({ tools, data })) {
      throw new Rejection('too_large', `Cannot keep: the conversation would have more than ${maxBytes} bytes`)
    }
    storeChange(change)
  }
  return {
    get navigation() {
      return currentState.navigation
    },
    storeNavigation: navigation => storeChange({ navigation }),
    toolState: { get: async () => currentState.tools, set: tools => storeToolChange({ tools }) },
    findData: name => currentState.data?.[name],
    storeData(name, value) {
      const { [name]: _, ...otherData } = currentState.data ?? {}
      storeToolChange({ data: value === undefined ? otherData : { ...otherData, [name]: value } })
    },
    findRemote: member => currentState.remotes?.[member],
    storeRemote: (member, continuation) =>
      storeChange({ remotes: { ...currentState.remotes, [member]: continuation } }),
  }
}

function countBytes(state: Pick<StoredTurnState, 'tools' | 'data'>): number {
  return Buffer.byteLength(JSON.stringify(state))
}
