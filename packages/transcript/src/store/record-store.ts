import type { Json } from '@postern/core'

/** Where a small record lies: what it is of, whose it is, and its name there. */
export interface RecordKey {
  readonly kind: string
  readonly owner: string
  readonly key: string
}

/** A small record as it lies on the record store; `version` changes with every writing. */
export interface StoredRecord {
  readonly key: string
  readonly value: Json
  readonly version: number
}

/** With what a record goes, besides by `remove`. A shelf that lives as long as the process need not look. */
export interface RecordTies {
  /** A message of the store, by its number: without it there is no such record, nor can one be made. */
  readonly message?: number | undefined
  /** Who is forgotten by this channel and address, `via @local@domain`. */
  readonly person?: string | undefined
  /** ms; from then on it is gone. */
  readonly until?: number | undefined
  /** What its owner may have then of records of kinds that are counted (`swarm-shared-…`): what makes it more is refused (`too_large`). */
  readonly most?: RecordQuota | undefined
}

/** How many records somebody has, or may have, and the bytes of what is in them. */
export interface RecordQuota {
  readonly records: number
  readonly bytes: number
}

/**
 * Small records beside the transcript: session rows, pending actions, the state of a swarm. Names may have any characters; an owner's
 * records are found by that owner alone.
 */
export interface RecordStore {
  get(place: RecordKey): Promise<StoredRecord | undefined>
  /** False, and nothing changes, when there is one already, or what it is tied to is gone. */
  insert(place: RecordKey, value: Json, ties?: RecordTies): Promise<boolean>
  /** Writes only when the record still has this version: false when another writer was first, or there is none. `ties`: in place of those it has. */
  swap(place: RecordKey, version: number, value: Json, ties?: RecordTies): Promise<boolean>
  put(place: RecordKey, value: Json): Promise<void>
  /** Taking away what is not there succeeds. */
  remove(place: RecordKey): Promise<void>
  /** In the order in which they were first put, newest first. */
  list(
    kind: string,
    owner: string,
    page?: { readonly limit?: number; readonly offset?: number },
  ): Promise<readonly StoredRecord[]>
}
