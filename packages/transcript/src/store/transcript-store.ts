// Declares the port that stores threads, with their names, entries, locks and quotas.
import type { EntryBody, TranscriptEntry } from '../entry/entry.ts'
import type { EntryKind, EntryScope } from '../entry/kind.ts'

/** A thread and its owner. No lookup finds a thread by its id alone. */
export interface ThreadKey {
  readonly owner: string
  readonly thread_id: string
}

/** The name of a thread in a transport or dialect, such as an AP context, a Message-ID, a session id, a location or a client id. */
export interface ThreadAlias {
  readonly transport: string
  readonly key: string
}

/** A range of a thread in ascending `seq`. An absent limit does not restrict the range. */
export interface EntryRange {
  /** The `seq` after which the range begins. */
  readonly after_seq?: number | undefined
  /** The `seq` before which the range ends. */
  readonly before_seq?: number | undefined
  /** The maximum number of entries, from the first. 0 means none. */
  readonly limit?: number | undefined
  /** The maximum number of entries, from the last but in ascending order. 0 means none. It replaces `limit`. */
  readonly tail?: number | undefined
  /** The maximum size of stored entries, bytes. The range then has the first entries, or with `tail` the last ones, and at least one. */
  readonly max_bytes?: number | undefined
  /** True to reject entries beyond `max_bytes` (`too_large`) instead of omitting them. */
  readonly is_whole?: boolean | undefined
  readonly scopes?: readonly EntryScope[] | undefined
  readonly kinds?: readonly EntryKind[] | undefined
  readonly agent_keys?: readonly string[] | undefined
  /** True to include all residue. For a conversation of the store, that is the complete message with its raw form, which only an export needs. */
  readonly is_exact?: boolean | undefined
  /** True for only the entries that the chat shows; `after_seq` and `before_seq` are then numbers of the chat (`chat_seq`). */
  readonly chat?: boolean | undefined
}

/** The right to write to a thread for a limited time. A later holder's `fence` is greater. */
export interface ThreadLock {
  readonly token: string
  readonly fence: number
  /** The time at which the lock expires, ms. */
  readonly expires_at: number
}

export interface WriteRequest {
  /** The lock under which the caller writes. Without it the write fails while another writer holds the lock. */
  readonly token?: string | undefined
  /** The owner's quota. A write that exceeds it is rejected (`too_large`). Stores that last as long as the process may ignore it. */
  readonly quota?: OwnerQuota | undefined
}

/** The amount of data that an owner has or may have: threads, entries, and the size of their content in bytes. */
export interface OwnerQuota {
  readonly threads: number
  readonly entries: number
  readonly bytes: number
}

/**
 * The stored transcript, append-only except for `replace` (a session's whole list) and `forget`. A write to a thread that another writer locks,
 * or under a lost lock, throws `Unavailable` ("transcript_lock_contention") and changes nothing.
 */
export interface TranscriptStore {
  /** Opens the owner's thread with an alias, or creates it. Concurrent calls get the same thread. */
  openThread(owner: string, alias: ThreadAlias, quota?: OwnerQuota): Promise<ThreadKey>
  findThread(owner: string, alias: ThreadAlias): Promise<ThreadKey | undefined>
  /** Adds another name. @throws Rejection forbidden if the thread has another owner, or another thread has the name */
  addAlias(thread: ThreadKey, alias: ThreadAlias): Promise<void>
  /** Lists the names of a thread, oldest first. */
  listAliases(thread: ThreadKey): Promise<readonly ThreadAlias[]>
  /**
   * Numbers and stores all the entries or none. Known entries (same `entry_id`, or same dialect of origin and `native_id`) are returned in their
   * stored form.
   */
  append(thread: ThreadKey, entries: readonly EntryBody[], request?: WriteRequest): Promise<readonly TranscriptEntry[]>
  read(thread: ThreadKey, range?: EntryRange): Promise<readonly TranscriptEntry[]>
  /** Finds the entries that exist, in the order of `entryIds`. */
  find(thread: ThreadKey, entryIds: readonly string[]): Promise<readonly TranscriptEntry[]>
  /** Replaces the whole list. Numbers begin at 1 again. */
  replace(thread: ThreadKey, entries: readonly EntryBody[], request?: WriteRequest): Promise<readonly TranscriptEntry[]>
  /** Removes the thread with its names. The removal of an unknown thread succeeds. */
  forget(thread: ThreadKey, request?: WriteRequest): Promise<void>
  /** Acquires the lock. Returns `undefined` while another writer has the lock. An expired lock is replaced. Readers may ignore the lock, writers may not. */
  acquireLock(thread: ThreadKey, ttlMs: number): Promise<ThreadLock | undefined>
  /** Returns true while a writer has the lock. */
  isLocked(thread: ThreadKey): Promise<boolean>
  /** Releases the lock. It returns false if the token has no valid lock. */
  releaseLock(thread: ThreadKey, token: string): Promise<boolean>
}

/** Lists the entries of a thread that the markers of the messages claim, by id, for a codec's `find`. */
export async function listClaimed(
  transcript: Pick<TranscriptStore, 'find'>,
  thread: ThreadKey,
  claims: readonly string[],
): Promise<ReadonlyMap<string, TranscriptEntry>> {
  const entries = claims.length > 0 ? await transcript.find(thread, [...new Set(claims)]) : []
  return new Map(entries.map(entry => [entry.entry_id, entry]))
}
