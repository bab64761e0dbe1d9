import type { Json } from '@postern/core'
import { z } from 'zod'
import type { EntryBody, LosslessDiff, TranscriptEntry } from '../entry/entry.ts'
import type { FormatName } from '../entry/kind.ts'
import { entryKinds } from '../entry/kind.ts'
import type { JsonMap } from '../json/difference.ts'

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

/** Something that a reader noticed and accepted. It names no content. */
export interface CodecFinding {
  readonly code: string
  readonly message: string
  /** Position of the message in the input. */
  readonly index: number
}

/** What a reader of a dialect needs. All lookups are for one thread of one owner, and find nothing else. */
export interface ReadContext {
  readonly thread_id: string
  /** ISO 8601 UTC; the time for messages without one. */
  readonly at: string
  newId(): string
  /** The agent of the messages, if the dialect names none. */
  readonly agent_key?: string | undefined
  readonly run_id?: string | undefined
  /** Entries shortly before in the thread. A result without an id looks for its call there. */
  readonly before?: readonly EntryBody[] | undefined
  /** An entry of this thread and this owner by its `entry_id`. Only such entries make an origin marker valid. */
  find?(entryId: string): TranscriptEntry | undefined
  report?(finding: CodecFinding): void
}

/**
 * Which messages get our origin marker: those that began in another dialect, all, or none. Without one, a message of this dialect is
 * written as it was read.
 */
type MarkerPolicy = 'foreign' | 'all' | 'none'

export interface WriteOptions {
  /** Default `foreign`. */
  readonly marker?: MarkerPolicy | undefined
  /** Leaves out ids that we made, if the dialect does not require one. Default false. */
  readonly omitsOwnIds?: boolean | undefined
}

/**
 * A dialect of the transcript. `write(read(x))` equals x (for the envelope: its normal form). Messages that one dialect wrote and reads
 * again give the same entries, so a way through another dialect changes nothing.
 */
export interface Codec<Foreign> {
  readonly format: FormatName
  /** One message of the dialect, valid and plain JSON. @throws Rejection malformed, naming the member */
  parse(value: unknown): Foreign
  /** Ids of the entries that markers in `messages` claim, for the lookup before `read`. */
  listClaims(messages: readonly unknown[]): readonly string[]
  /** @throws Rejection malformed, as `parse` */
  read(messages: readonly unknown[], context: ReadContext): readonly EntryBody[]
  /** Never fails. An entry without a form in the dialect becomes the nearest legal one, and its marker names the true kind. */
  write(entries: readonly EntryBody[], options?: WriteOptions): readonly Foreign[]
  /**
   * How many of `entries`, from the first, are complete messages, whatever entries follow. It tells how much of a growing list `write` may
   * get.
   */
  countWhole(entries: readonly EntryBody[]): number
  /** What must stand with the first entry of `run`, so that they are written as this message. */
  diffOf(run: readonly [EntryBody, ...EntryBody[]], message: Foreign): LosslessDiff
}

/** The member of a dialect's open map that contains our marker. */
export const markerName = 'gateway'

/** The entries of a written message. The marker is in an open map of the dialect and is found there again. */
const markerSchema = z.object({
  v: z.literal(1),
  entry_id: z.string(),
  kind: z.enum(entryKinds),
  /** The further entries of the message. */
  more: z.array(z.string()).max(1000).optional(),
})

/** The marker of a message made of `run`. */
export function markerOfRun(run: readonly EntryBody[]): z.infer<typeof markerSchema> {
  const [head, ...rest] = run
  if (!head) throw new TypeError('a message has at least one entry')
  const more = rest.map(({ entry_id }) => entry_id)
  return { v: 1, entry_id: head.entry_id, kind: head.kind, ...(more.length > 0 && { more }) }
}

/** The entries that a marker claims; none when it is not one of ours. */
export function listClaimedIds(marker: unknown): readonly string[] {
  const { data } = markerSchema.safeParse(marker)
  return data ? [data.entry_id, ...(data.more ?? [])] : []
}

/** The marker of a dialect that has an open map in its messages, in that member. */
export function markIn<Foreign extends JsonMap>(
  member: keyof Foreign & string,
): Pick<Dialect<Foreign>, 'readMarker' | 'stripMarker' | 'addMarker'> {
  const openMapOf = (message: Foreign) => (message[member] ?? {}) as JsonMap
  return {
    readMarker: message => openMapOf(message)[markerName],
    stripMarker(message) {
      const { [markerName]: _, ...rest } = openMapOf(message)
      return { ...message, [member]: rest }
    },
    addMarker: (message, run) => ({ ...message, [member]: { ...openMapOf(message), [markerName]: markerOfRun(run) } }),
  }
}
