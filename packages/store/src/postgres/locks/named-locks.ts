// Locks names against other gateways.
import type { PendingStatement, PlainStatement } from '../connection/statement-session.ts'
import { createStatement } from '../connection/statement-session.ts'
import type { LockKeys } from './lock-keys.ts'

/** The maximum number of locks of one transaction, so that gateways do not exhaust those of the server: 6,400 for all connections by default. */
export const maxLocks = 512
/** The number of failed attempts after which a transaction runs exclusively. */
const maxSharedAttempts = 2

/** Locks that keep other gateways away from what a transaction touches: the names that its operations give, or everything. */
export interface NamedLocks {
  /** Waits for the locks of these names; undefined: for all other transactions. `failedAttempts` failed because of others. */
  begin(names: readonly string[] | undefined, failedAttempts: number): void
  /** Returns true if no other transaction writes until the end of this one. */
  isExclusive(): boolean
  /**
   * Requests the lock of one more name without waiting. If another transaction has it, this one is undone and requests the lock at its next
   * beginning.
   * @returns the statement that requests the lock and yields a number for a message that is written after it; undefined if the lock is held already
   */
  reserve(name: string): PendingStatement | undefined
  /** Waits for the locks of these names, at the end of a transaction that requests nothing more. */
  waitFor(names: readonly string[]): void
}

type Add = (statement: PlainStatement, values: readonly (string | number)[]) => PendingStatement

/** Creates the locks of one attempt. `requestedNames` has the names that earlier attempts requested while they ran, and gets further ones. */
export function createNamedLocks(keys: LockKeys, add: Add, requestedNames: Set<string>): NamedLocks {
  let lockedNames: ReadonlySet<string> = new Set()
  let isExclusive = true

  function requestLocks(names: Iterable<string>): void {
    const lockKeys = keys.keysOf(names)
    if (lockKeys.length > 0) add(lockStatements.lockAll, [`{${lockKeys.join()}}`])
  }

  return {
    begin(names, failedAttempts) {
      isExclusive = failedAttempts >= maxSharedAttempts || names === undefined
      add(isExclusive ? lockStatements.lockEverything : lockStatements.shareEverything, [keys.everything])
      lockedNames = isExclusive ? new Set() : new Set([...(names ?? []), ...requestedNames])
      requestLocks(lockedNames)
    },
    isExclusive: () => isExclusive,
    reserve(name) {
      if (isExclusive || lockedNames.has(name)) return undefined
      requestedNames.add(name)
      return add(lockStatements.tryLock, [keys.keyOf(name)])
    },
    waitFor: requestLocks,
  }
}

const lockStatements = {
  lockEverything: createStatement('SELECT pg_advisory_xact_lock($1)'),
  shareEverything: createStatement('SELECT pg_advisory_xact_lock_shared($1)'),
  // The server acquires the locks in the order of the list.
  lockAll: createStatement('SELECT count(pg_advisory_xact_lock(key)) FROM unnest(CAST($1 AS BIGINT[])) AS key'),
  // The number is drawn once the lock is held, so that a later number in a thread also becomes visible later.
  tryLock: createStatement(
    "SELECT CASE WHEN must_hold(pg_try_advisory_xact_lock($1)) THEN nextval('messages_seq_seq') END AS number",
  ),
}
