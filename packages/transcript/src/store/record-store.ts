// Declares the store of small versioned records, with an implementation in memory.
import type { Json } from '@postern/message'
import { copyJson } from '../json/difference.ts'

/** The key of a small record, which consists of its kind, its owner and its name. */
export interface RecordKey {
  readonly kind: string
  readonly owner: string
  readonly key: string
}

/** A small record in its stored form. Its `version` changes with every write. */
export interface StoredRecord {
  readonly key: string
  readonly value: Json
  readonly version: number
}

/** Events that remove a record, in addition to `remove`. A store that lasts as long as the process may ignore them. */
export interface RecordTies {
  /** The number of a message in the store. Without that message, the record is removed and cannot be created. */
  readonly message?: number | undefined
  /** A person, by channel and address, `via @local@domain`. Deleting this person's data removes the record. */
  readonly person?: string | undefined
  /** The time at which the record expires, ms. */
  readonly expiresAt?: number | undefined
  /** The owner's quota for counted kinds (`swarm-shared-…`). A write that exceeds it is rejected (`too_large`). */
  readonly quota?: RecordQuota | undefined
  /**
   * The source record that the record is derived from. Both are removed with the same message and person, and at the same time. Without its source,
   * the record cannot be created.
   */
  readonly source?: RecordKey | undefined
}

/** The number of records that an owner has or may have, and their size in bytes. */
export interface RecordQuota {
  readonly records: number
  readonly bytes: number
}

/**
 * A store of small records in addition to the transcript, such as session rows, pending actions and the state of a swarm. Names may have any
 * characters. Only the owner finds its records.
 */
export interface RecordStore {
  get(key: RecordKey): Promise<StoredRecord | undefined>
  /** Inserts a record. It changes nothing and returns false if the record already exists, or if the message, person or record of its ties is missing. */
  insert(key: RecordKey, value: Json, ties?: RecordTies): Promise<boolean>
  /**
   * Writes only if the record still has this version. It returns false if another writer was first, or there is no record. `ties` replace the
   * current ties.
   */
  swap(key: RecordKey, version: number, value: Json, ties?: RecordTies): Promise<boolean>
  put(key: RecordKey, value: Json): Promise<void>
  /** Removes a record. The removal of a missing record succeeds. */
  remove(key: RecordKey): Promise<void>
  /** Lists records by their first insertion, newest first. */
  list(
    kind: string,
    owner: string,
    page?: { readonly limit?: number; readonly offset?: number },
  ): Promise<readonly StoredRecord[]>
}

/** Creates a record store that lasts as long as the process. */
export function createMemoryRecords(): RecordStore {
  const records = new Map<string, RecordKey & StoredRecord>()
  let lastVersion = 0

  function write(key: RecordKey, value: Json): void {
    lastVersion += 1
    records.set(nameRecord(key), { ...key, value: copyJson(value), version: lastVersion })
  }

  return {
    async get(key) {
      return records.get(nameRecord(key))
    },
    async insert(key, value) {
      if (records.has(nameRecord(key))) return false
      write(key, value)
      return true
    },
    async swap(key, version, value) {
      if (records.get(nameRecord(key))?.version !== version) return false
      write(key, value)
      return true
    },
    async put(key, value) {
      write(key, value)
    },
    async remove(key) {
      records.delete(nameRecord(key))
    },
    async list(kind, owner, { limit = Number.POSITIVE_INFINITY, offset = 0 } = {}) {
      const ownRecords = [...records.values()].filter(record => record.kind === kind && record.owner === owner)
      return ownRecords.toReversed().slice(offset, offset + limit)
    },
  }
}

function nameRecord({ kind, owner, key }: RecordKey): string {
  return JSON.stringify([kind, owner, key])
}
