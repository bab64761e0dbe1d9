// Declares the functions that a message format provides for its codec, and the marker that names stored entries.
import type { Json } from '@postern/message'
import { z } from 'zod'
import type { EntryBody, LosslessDiff, TranscriptEntry } from '../entry/entry.ts'
import type { FormatName } from '../entry/kind.ts'
import { entryKinds } from '../entry/kind.ts'
import { messageIdOf } from '../entry/message-id.ts'
import type { JsonMap } from '../json/difference.ts'

/** An entry with the members that the dialect provides. The context fills in the others. */
export type TranscriptDraft = Omit<EntryBody, 'entry_id' | 'thread_id' | 'at' | 'scope' | 'group_id' | 'ext'> & {
  readonly at?: EntryBody['at'] | undefined
  readonly scope?: EntryBody['scope'] | undefined
}

/** The position of a message in its list, and the earlier entries that the message may refer to. */
export interface ReadPosition {
  readonly context: ReadContext
  /** The position of the message in the list. */
  readonly index: number
  /** The entries of the earlier messages. */
  readonly precedingEntries: readonly EntryBody[]
}

/**
 * The translation of one dialect between messages and entries by canonical members. The codec stores the difference as
 * residue, so `toMessage` need not be exact, but it must be pure and total.
 */
export interface Dialect<Foreign extends JsonMap> {
  readonly format: FormatName
  /** Parses a message of the dialect. @throws Rejection malformed */
  parse(value: unknown, report?: (code: string, message: string) => void): Foreign
  /** Translates a message to one entry or more. */
  toDrafts(message: Foreign, reading: ReadPosition): readonly [TranscriptDraft, ...TranscriptDraft[]]
  /** Returns the number of entries, from the first, that one message of this dialect contains. It is at least 1. */
  countMessageEntries(entries: readonly EntryBody[]): number
  /**
   * Translates a run of entries to a message. `precedingEntries` are the entries shortly before the run. They are absent for a run that came from a
   * message of this dialect.
   */
  toMessage(run: readonly [EntryBody, ...EntryBody[]], precedingEntries?: readonly EntryBody[]): Foreign
  /** Returns the members of the input that `parse` dropped. */
  listDropped?(value: unknown): JsonMap | undefined
  /** Present if the message's own id is the marker. Such an id usually names no entry. */
  readonly usesIdAsMarker?: true
  /** Reads the marker of a message. Returns `undefined` if there is none. */
  readMarker(message: Foreign): unknown
  stripMarker(message: Foreign): Foreign
  /** Adds the marker of `run` to the message. */
  addMarker(message: Foreign, run: readonly EntryBody[]): Foreign
  /** Returns the members that must be equal for two messages to have the same content. */
  comparableMembersOf(message: Foreign): Json
  dropOwnId?(message: Foreign): Foreign
}

/** A deviation that a reader noticed and accepted. It contains no content of the message. */
export interface CodecFinding {
  readonly code: string
  readonly message: string
  /** The position of the message in the input. */
  readonly index: number
}

/** The context that a reader of a dialect needs. All lookups cover one thread of one owner and find nothing else. */
export interface ReadContext {
  readonly thread_id: string
  /** The time for messages without one, in ISO 8601 UTC. */
  readonly at: string
  newId(): string
  /** The agent of the messages. Absent if the dialect names the agent. */
  readonly agent_key?: string | undefined
  readonly run_id?: string | undefined
  /** The entries shortly before in the thread, among which a result without an id finds its call. */
  readonly precedingEntries?: readonly EntryBody[] | undefined
  /** Finds an entry of this thread and this owner by its `entry_id`. Only such entries make an origin marker valid. */
  find?(entryId: string): TranscriptEntry | undefined
  report?(finding: CodecFinding): void
}

/**
 * The messages that get our origin marker. `foreign` means messages that come from another dialect. Without a marker, a message of this dialect is
 * written as it was read.
 */
type MarkerPolicy = 'foreign' | 'all' | 'none'

export interface WriteOptions {
  /** The messages that get a marker. Default: `foreign`. */
  readonly marker?: MarkerPolicy | undefined
  /** The entries of the thread shortly before the first entry, among which a result finds the arguments of its call. */
  readonly precedingEntries?: readonly EntryBody[] | undefined
  /** True to omit ids that we created, unless the dialect requires an id. Default: false. */
  readonly omitsOwnIds?: boolean | undefined
}

/**
 * A dialect of the transcript. `write(read(x))` equals x, or the normal form of x for the envelope. A dialect that reads its own messages again gets
 * the same entries, so a round trip through another dialect changes nothing.
 */
export interface Codec<Foreign> {
  readonly format: FormatName
  /** Parses one message of the dialect to valid and plain JSON. @throws Rejection malformed, naming the member */
  parse(value: unknown): Foreign
  /** Lists the ids of the entries that markers in `messages` claim, for the lookup before `read`. */
  listClaims(messages: readonly unknown[]): readonly string[]
  /** Reads messages as entries. @throws Rejection malformed, as `parse` */
  read(messages: readonly unknown[], context: ReadContext): readonly EntryBody[]
  /**
   * Writes entries as messages and never fails. An entry that the dialect has no form for becomes the nearest legal message, whose marker names
   * the true kind.
   */
  write(entries: readonly EntryBody[], options?: WriteOptions): readonly Foreign[]
  /**
   * Counts the entries, from the first, that form complete messages regardless of the entries that follow. These are the entries of a growing list
   * that `write` may get.
   */
  countCompleteEntries(entries: readonly EntryBody[]): number
  /** Returns the residue that the first entry of `run` must have so that the run is written as this message. */
  diffOf(run: readonly [EntryBody, ...EntryBody[]], message: Foreign): LosslessDiff
}

/** The member of a dialect's open map that contains our marker. */
export const markerName = 'gateway'

/** The marker that names the entries of a written message. It is stored in an open map of the dialect, from which it is read again. */
const markerSchema = z.object({
  v: z.literal(1),
  entry_id: z.string(),
  kind: z.enum(entryKinds),
  /** The ids of the other entries of the message. */
  more: z.array(z.string()).max(1000).optional(),
  /** The ids under which a chat shows all entries of the message. Absent if they are the ids of the entries. */
  ids: z.array(z.string()).max(1001).optional(),
})

/** Returns the marker of a message that contains `run`. */
export function markerOfRun(run: readonly EntryBody[]): z.infer<typeof markerSchema> {
  const [head, ...furtherEntries] = run
  if (!head) throw new TypeError('a message has at least one entry')
  const furtherIds = furtherEntries.map(({ entry_id }) => entry_id)
  const hasIds = run.some(entry => messageIdOf(entry) !== entry.entry_id)
  return {
    v: 1,
    entry_id: head.entry_id,
    kind: head.kind,
    ...(furtherIds.length > 0 && { more: furtherIds }),
    ...(hasIds && { ids: run.map(messageIdOf) }),
  }
}

/** Returns the ids from a marker under which a chat shows the entries of the message. */
export function listMessageIds(marker: unknown): readonly string[] | undefined {
  return markerSchema.safeParse(marker).data?.ids
}

/** Lists the ids of the entries that a marker claims, or no ids if the marker is not ours. */
export function listClaimedIds(marker: unknown): readonly string[] {
  const { data } = markerSchema.safeParse(marker)
  return data ? [data.entry_id, ...(data.more ?? [])] : []
}

/** Creates the marker functions of a dialect whose messages have an open map in `member`. */
export function createMarkerFunctions<Foreign extends JsonMap>(
  member: keyof Foreign & string,
): Pick<Dialect<Foreign>, 'readMarker' | 'stripMarker' | 'addMarker'> {
  const openMapOf = (message: Foreign) => (message[member] ?? {}) as JsonMap
  return {
    readMarker: message => openMapOf(message)[markerName],
    stripMarker(message) {
      const { [markerName]: _, ...otherMembers } = openMapOf(message)
      return { ...message, [member]: otherMembers }
    },
    addMarker: (message, run) => ({ ...message, [member]: { ...openMapOf(message), [markerName]: markerOfRun(run) } }),
  }
}
