import type { EntryBody, LosslessDiff, TranscriptEntry } from '../entry/entry.ts'
import type { FormatName } from '../entry/kind.ts'

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
