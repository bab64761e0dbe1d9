import type { Json } from '@postern/core'
import type { EntryBody } from '../entry/entry.ts'
import type { FormatName } from '../entry/kind.ts'
import type { JsonMap } from '../json/difference.ts'
import type { ReadContext } from './codec.ts'

/** What a dialect says of an entry; what it leaves open is filled in from the context. */
export type TranscriptDraft = Omit<EntryBody, 'entry_id' | 'thread_id' | 'at' | 'scope' | 'group_id' | 'ext'> & {
  readonly at?: EntryBody['at'] | undefined
  readonly scope?: EntryBody['scope'] | undefined
}

/** What has been read before, in this list, that a later message refers to. */
export interface Reading {
  readonly context: ReadContext
  /** Place of the message in the list. */
  readonly index: number
  /** Entries of the messages before. */
  readonly before: readonly EntryBody[]
}

/**
 * One dialect, as the codec needs it: how a message and entries translate as far as the canonical members go. What they do not hold is
 * found as a difference and kept as residue, so `toMessage` need not remember anything, only be pure and total.
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
  /** Members of what was given that `parse` dropped. */
  listDropped?(value: unknown): JsonMap | undefined
  /** Its bag is the message's own id, which most often is nobody's entry. */
  readonly markerIsId?: true
  /** What stands where our bag stands; `undefined` where nothing does. */
  readMarker(message: Foreign): unknown
  stripMarker(message: Foreign): Foreign
  /** With the bag of `run` in it. */
  addMarker(message: Foreign, run: readonly EntryBody[]): Foreign
  /** What two messages must agree in to say the same. */
  essenceOf(message: Foreign): Json
  dropOwnId?(message: Foreign): Foreign
}
