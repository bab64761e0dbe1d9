import type { Json } from '@postern/core'
import type { EntryBody } from '../entry/entry.ts'
import type { FormatName } from '../entry/kind.ts'
import type { JsonMap } from '../json/difference.ts'
import type { ReadContext } from './codec.ts'

/** An entry as the dialect states it. The context fills in the rest. */
export type TranscriptDraft = Omit<EntryBody, 'entry_id' | 'thread_id' | 'at' | 'scope' | 'group_id' | 'ext'> & {
  readonly at?: EntryBody['at'] | undefined
  readonly scope?: EntryBody['scope'] | undefined
}

/** Earlier messages of this list that a later one refers to. */
export interface Reading {
  readonly context: ReadContext
  /** Position of the message in the list. */
  readonly index: number
  /** Entries of the messages before. */
  readonly before: readonly EntryBody[]
}

/**
 * One dialect, as the codec needs it: the translation between messages and entries by canonical members. The codec stores the difference as
 * residue, so `toMessage` must only be pure and total.
 */
export interface Dialect<Foreign extends JsonMap> {
  readonly format: FormatName
  /** @throws Rejection malformed */
  parse(value: unknown, report?: (code: string, message: string) => void): Foreign
  /** At least one. */
  toDrafts(message: Foreign, reading: Reading): readonly [TranscriptDraft, ...TranscriptDraft[]]
  /** How many of `entries`, from the first, one message of this dialect holds; 1 or more. */
  countRun(entries: readonly EntryBody[]): number
  toMessage(run: readonly [EntryBody, ...EntryBody[]]): Foreign
  /** Members of the input that `parse` dropped. */
  listDropped?(value: unknown): JsonMap | undefined
  /** Its marker is the message's own id, which usually names no entry. */
  readonly markerIsId?: true
  /** The value at the marker's place; `undefined` without one. */
  readMarker(message: Foreign): unknown
  stripMarker(message: Foreign): Foreign
  /** The message with the marker of `run`. */
  addMarker(message: Foreign, run: readonly EntryBody[]): Foreign
  /** The members that must agree for two messages to have the same content. */
  essenceOf(message: Foreign): Json
  dropOwnId?(message: Foreign): Foreign
}
