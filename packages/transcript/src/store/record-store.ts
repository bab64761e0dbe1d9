import type { Json } from '@postern/core'
import { copyJson } from '../json/difference.ts'

/** The key of a small record: its kind, its owner, and its name. */
export interface RecordKey {
  readonly kind: string
  readonly owner: string
  readonly key: string
}

/** A small record as it is stored; `version` changes with every write. */
export interface StoredRecord {
  readonly key: string
  readonly value: Json
  readonly version: number
}

/** What removes a record besides `remove`. A store that lives as long as the process may ignore it. */
export interface RecordTies {
  /** A message of the store, by its number. Without the message, the record is removed and cannot be made. */
  readonly message?: number | undefined
  /** A person, by channel and address, `via @local@domain`. Forgetting them removes the record. */
  readonly person?: string | undefined
  /** ms; from then on the record is gone. */
  readonly until?: number | undefined
  /** The owner's quota for counted kinds (`swarm-shared-…`). A write beyond it is refused (`too_large`). */
  readonly most?: RecordQuota | undefined
}

/** How many records an owner has, or may have, and their bytes. */
export interface RecordQuota {
  readonly records: number
  readonly bytes: number
}

/**
 * Small records beside the transcript: session rows, pending actions, the state of a swarm. Names may have any characters. Only the owner
 * finds its records.
 */
export interface RecordStore {
  get(place: RecordKey): Promise<StoredRecord | undefined>
  /** False, without a change, when it exists already, or its tie is gone. */
  insert(place: RecordKey, value: Json, ties?: RecordTies): Promise<boolean>
  /**
   * Writes only if the record still has this version: false when another writer was first, or there is none. `ties` replace the present
   * ones.
   */
  swap(place: RecordKey, version: number, value: Json, ties?: RecordTies): Promise<boolean>
  put(place: RecordKey, value: Json): Promise<void>
  /** Removing a missing record succeeds. */
  remove(place: RecordKey): Promise<void>
  /** By their first insertion, newest first. */
  list(
    kind: string,
    owner: string,
    page?: { readonly limit?: number; readonly offset?: number },
  ): Promise<readonly StoredRecord[]>
}

/** A record store that lives as long as the process. */
export function createMemoryRecords(): RecordStore {
  const records = new Map<string, RecordKey & StoredRecord>()
  let versions = 0

  function write(place: RecordKey, value: Json): void {
    versions += 1
    records.set(namePlace(place), { ...place, value: copyJson(value), version: versions })
  }

  return {
    async get(place) {
      return records.get(namePlace(place))
    },
    async insert(place, value) {
      if (records.has(namePlace(place))) return false
      write(place, value)
      return true
    },
    async swap(place, version, value) {
      if (records.get(namePlace(place))?.version !== version) return false
      write(place, value)
      return true
    },
    async put(place, value) {
      write(place, value)
    },
    async remove(place) {
      records.delete(namePlace(place))
    },
    async list(kind, owner, { limit = Number.POSITIVE_INFINITY, offset = 0 } = {}) {
      const own = [...records.values()].filter(record => record.kind === kind && record.owner === owner)
      return own.toReversed().slice(offset, offset + limit)
    },
  }
}

function namePlace({ kind, owner, key }: RecordKey): string {
  return JSON.stringify([kind, owner, key])
}
