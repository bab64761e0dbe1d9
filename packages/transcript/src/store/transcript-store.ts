import type { EntryBody, TranscriptEntry } from '../entry/entry.ts'
import type { EntryKind, TranscriptScope } from '../entry/kind.ts'

/** A thread as its owner sees it: no look-up finds a thread by its id alone. */
export interface ThreadKey {
  readonly owner: string
  readonly thread_id: string
}

/** What a transport or a dialect calls a thread: an AP context, a Message-ID, a session id, a location, a client id. */
export interface ThreadAlias {
  readonly transport: string
  readonly key: string
}

/** A stretch of a thread in ascending `seq`. Absent limits mean everything. */
export interface EntryRange {
  /** Only entries behind this `seq`. */
  readonly after_seq?: number | undefined
  /** Only entries before this `seq`. */
  readonly before_seq?: number | undefined
  /** The first so many of what is left; 0 is none. */
  readonly limit?: number | undefined
  /** The last so many, still ascending; 0 is none. Applied in place of `limit`. */
  readonly tail?: number | undefined
  /** Of these no more than so many bytes, as they are stored: the first ones, with `tail` the last ones, one at least. */
  readonly max_bytes?: number | undefined
  /** What exceeds `max_bytes` is refused (`too_large`) instead of left out. */
  readonly is_whole?: boolean | undefined
  readonly scopes?: readonly TranscriptScope[] | undefined
  readonly kinds?: readonly EntryKind[] | undefined
  readonly agent_keys?: readonly string[] | undefined
  /**
   * With all residue there is. Of a conversation of the store that is what was handled, whole and with its raw form, read from where the store has
   * it: as much as an export needs, and nobody else.
   */
  readonly is_exact?: boolean | undefined
  /** Only what is visible in the chat; then `after_seq` and `before_seq` are places of the chat (`chat_seq`). */
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
  /** The lock under which the caller writes; without it the write stands alone, and fails while somebody else holds the lock. */
  readonly token?: string | undefined
  /** What the thread's owner may have then: what makes it more is refused (`too_large`). Stores that live as long as the process need not count. */
  readonly most?: OwnerQuota | undefined
}

/** How much somebody has, or may have: threads, entries, and the bytes of what was said in them. */
export interface OwnerQuota {
  readonly threads: number
  readonly entries: number
  readonly bytes: number
}

/**
 * The stored truth. Append-only but for `replace` (a session's whole list) and `forget`. Writing to a thread that somebody else holds, or
 * under a lock that is no longer held, throws `Unavailable` ("transcript_lock_contention") and changes nothing.
 */
export interface TranscriptStore {
  /** The thread an alias names for this owner, made when there is none: two at once get the same one. */
  openThread(owner: string, alias: ThreadAlias, most?: OwnerQuota): Promise<ThreadKey>
  findThread(owner: string, alias: ThreadAlias): Promise<ThreadKey | undefined>
  /** A further name. @throws Rejection forbidden when the thread is not this owner's, or the name is another thread's */
  addAlias(thread: ThreadKey, alias: ThreadAlias): Promise<void>
  /** Oldest first. */
  listAliases(thread: ThreadKey): Promise<readonly ThreadAlias[]>
  /**
   * Gives each entry its places, all or none. What is there already (same `entry_id`, or same dialect of origin and `native_id`) is
   * returned as it is stored, not written again.
   */
  append(thread: ThreadKey, entries: readonly EntryBody[], request?: WriteRequest): Promise<readonly TranscriptEntry[]>
  read(thread: ThreadKey, range?: EntryRange): Promise<readonly TranscriptEntry[]>
  /** Those of the thread that exist, in the order of `entryIds`. */
  find(thread: ThreadKey, entryIds: readonly string[]): Promise<readonly TranscriptEntry[]>
  /** The whole list at once; places begin at 1 again. */
  replace(thread: ThreadKey, entries: readonly EntryBody[], request?: WriteRequest): Promise<readonly TranscriptEntry[]>
  /** Everything of the thread, its names too. Forgetting what is not there succeeds. */
  forget(thread: ThreadKey, request?: WriteRequest): Promise<void>
  /** `undefined` while somebody else holds it; an expired one is taken over. Advisory for readers, binding for writers. */
  acquireLock(thread: ThreadKey, ttlMs: number): Promise<ThreadLock | undefined>
  /** Whether somebody holds it now. */
  isLocked(thread: ThreadKey): Promise<boolean>
  /** False for a token that holds nothing any more. */
  releaseLock(thread: ThreadKey, token: string): Promise<boolean>
}
