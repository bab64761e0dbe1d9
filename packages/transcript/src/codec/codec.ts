import type { EntryBody, LosslessDiff, TranscriptEntry } from '../entry/entry.ts'
import type { FormatName } from '../entry/kind.ts'

/** Something a reader noticed and did not fail on; names no content. */
export interface CodecFinding {
  readonly code: string
  readonly message: string
  /** Place of the message in what was read. */
  readonly index: number
}

/** What reading a dialect needs to know. All look-ups are for one thread of one owner: nothing else can be found by them. */
export interface ReadContext {
  readonly thread_id: string
  /** ISO 8601 UTC; the time of what brings none. */
  readonly at: string
  newId(): string
  /** The agent whose messages these are, where the dialect names none. */
  readonly agent_key?: string | undefined
  readonly run_id?: string | undefined
  /** What came shortly before in the thread: a result without an id looks for its call there. */
  readonly before?: readonly EntryBody[] | undefined
  /** An entry of this thread and this owner by its `entry_id`; a bag counts only for what this finds. */
  find?(entryId: string): TranscriptEntry | undefined
  report?(finding: CodecFinding): void
}

/**
 * Which messages get our bag (`gateway`): those that began in another dialect, all, or none. A message that began in this dialect and
 * bears no bag is written as it was read.
 */
type MarkerPolicy = 'foreign' | 'all' | 'none'

export interface WriteOptions {
  /** Default `foreign`. */
  readonly marker?: MarkerPolicy | undefined
  /** Leaves out an id that we made, where the dialect does not require one. Default false. */
  readonly omitsOwnIds?: boolean | undefined
}

/**
 * A dialect of the transcript. Laws: `write(read(x))` equals x (for the envelope: its normal form); what one dialect wrote and reads
 * again is the same entries, so a way through any other dialect changes nothing.
 */
export interface Codec<Foreign> {
  readonly format: FormatName
  /** One message of the dialect, valid and plain JSON. @throws Rejection malformed, naming the member */
  parse(value: unknown): Foreign
  /** Ids of the entries that bags in `messages` claim to be, for the look-up before `read`. */
  listClaims(messages: readonly unknown[]): readonly string[]
  /** @throws Rejection malformed, as `parse` */
  read(messages: readonly unknown[], context: ReadContext): readonly EntryBody[]
  /** Never fails: what the dialect has no word for becomes the nearest legal one, and its bag names the true kind. */
  write(entries: readonly EntryBody[], options?: WriteOptions): readonly Foreign[]
  /** How many of `entries`, from the first, are messages whatever entries follow: what `write` may be given of a list that goes on. */
  countWhole(entries: readonly EntryBody[]): number
  /** What has to stand with the first of `run` so that they are written as this message. */
  diffOf(run: readonly [EntryBody, ...EntryBody[]], message: Foreign): LosslessDiff
}
