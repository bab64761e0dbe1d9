import type { Json, NormalizedMessage } from '@postern/core'
import { parseJsonText, subjectOf } from '@postern/core'
import type { RecordKey, RecordStore } from '@postern/transcript'
import type { TieShared } from './shared-ties.ts'
import type { TurnState } from './state.ts'

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
