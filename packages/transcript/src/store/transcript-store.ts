import type { EntryBody, TranscriptEntry } from '../entry/entry.ts'
import type { EntryKind, TranscriptScope } from '../entry/kind.ts'

/** A thread for its owner. No lookup finds a thread by its id alone. */
export interface ThreadKey {
  readonly owner: string
  readonly thread_id: string
}

/** The name of a thread in a transport or dialect: an AP context, a Message-ID, a session id, a location, a client id. */
export interface ThreadAlias {
  readonly transport: string
  readonly key: string
}

/** A range of a thread in ascending `seq`. Absent limits mean everything. */
export interface EntryRange {
  /** Only entries after this `seq`. */
  readonly after_seq?: number | undefined
  /** Only entries before this `seq`. */
  readonly before_seq?: number | undefined
  /** The first entries, this many; 0 is none. */
  readonly limit?: number | undefined
  /** The last entries, this many, still ascending; 0 is none. Replaces `limit`. */
  readonly tail?: number | undefined
  /** At most this many stored bytes: the first entries, with `tail` the last ones, at least one. */
  readonly max_bytes?: number | undefined
  /** Refuses entries beyond `max_bytes` (`too_large`) instead of leaving them out. */
  readonly is_whole?: boolean | undefined
  readonly scopes?: readonly TranscriptScope[] | undefined
  readonly kinds?: readonly EntryKind[] | undefined
  readonly agent_keys?: readonly string[] | undefined
  /** With all residue. For a conversation of the store it is the complete message with its raw form, which only an export needs. */
  readonly is_exact?: boolean | undefined
  /** Only entries visible in the chat; then `after_seq` and `before_seq` are numbers of the chat (`chat_seq`). */
  readonly chat?: boolean | undefined
}

/** The right to write to a thread for a while. A later holder's `fence` is greater. */
export interface ThreadLock {
  readonly token: string
  readonly fence: number
  /** ms */
  readonly expires_at: number
}

export interface WriteRequest {
  /** The lock under which the caller writes. Without it the write fails while another writer holds the lock. */
  readonly token?: string | undefined
  /** The owner's quota: a write beyond it is refused (`too_large`). Stores that live as long as the process may ignore it. */
  readonly most?: OwnerQuota | undefined
}

/** How much an owner has, or may have: threads, entries, and the bytes of their content. */
export interface OwnerQuota {
  readonly threads: number
  readonly entries: number
  readonly bytes: number
}

/**
 * The stored truth, append-only except for `replace` (a session's whole list) and `forget`. A write to a thread that another writer holds,
 * or under a lost lock, throws `Unavailable` ("transcript_lock_contention") and changes nothing.
 */
export interface TranscriptStore {
  /** The owner's thread of an alias, made if there is none. Concurrent calls get the same one. */
  openThread(owner: string, alias: ThreadAlias, most?: OwnerQuota): Promise<ThreadKey>
  findThread(owner: string, alias: ThreadAlias): Promise<ThreadKey | undefined>
  /** Adds another name. @throws Rejection forbidden when the thread has another owner, or the name is another thread's */
  addAlias(thread: ThreadKey, alias: ThreadAlias): Promise<void>
  /** Oldest first. */
  listAliases(thread: ThreadKey): Promise<readonly ThreadAlias[]>
  /**
   * Numbers and stores the entries, all or none. Known entries (same `entry_id`, or same dialect of origin and `native_id`) are returned as
   * they are stored.
   */
  append(thread: ThreadKey, entries: readonly EntryBody[], request?: WriteRequest): Promise<readonly TranscriptEntry[]>
  read(thread: ThreadKey, range?: EntryRange): Promise<readonly TranscriptEntry[]>
  /** The entries that exist, in the order of `entryIds`. */
  find(thread: ThreadKey, entryIds: readonly string[]): Promise<readonly TranscriptEntry[]>
  /** Replaces the whole list; numbers begin at 1 again. */
  replace(thread: ThreadKey, entries: readonly EntryBody[], request?: WriteRequest): Promise<readonly TranscriptEntry[]>
  /** Removes the thread with its names. Forgetting an unknown thread succeeds. */
  forget(thread: ThreadKey, request?: WriteRequest): Promise<void>
  /** `undefined` while another writer holds it. An expired lock is replaced. Advisory for readers, binding for writers. */
  acquireLock(thread: ThreadKey, ttlMs: number): Promise<ThreadLock | undefined>
  /** Whether a writer holds it now. */
  isLocked(thread: ThreadKey): Promise<boolean>
  /** False for a token without a valid lock. */
  releaseLock(thread: ThreadKey, token: string): Promise<boolean>
}

/** The entries of a thread that the bags of some messages claim, by id: what a codec's `find` looks up. */
export async function listClaimed(
  transcript: Pick<TranscriptStore, 'find'>,
  thread: ThreadKey,
  claims: readonly string[],
): Promise<ReadonlyMap<string, TranscriptEntry>> {
  const entries = claims.length > 0 ? await transcript.find(thread, [...new Set(claims)]) : []
  return new Map(entries.map(entry => [entry.entry_id, entry]))
}
