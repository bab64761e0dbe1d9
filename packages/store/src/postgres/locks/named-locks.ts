// Locks names, such as threads, against the transactions of other gateways.
import type { PendingStatement, PlainStatement } from '../connection/statement-session.ts'
import { createStatement } from '../connection/statement-session.ts'
import type { LockKeys } from './lock-keys.ts'

/** The maximum number of locks of one transaction. By default a server has 6,400 locks for all connections. */
export const maxLocks = 512
/** The number of failed attempts after which a transaction runs exclusively. */
const maxSharedAttempts = 2

/** The locks of a transaction against other gateways. A transaction locks the names that its operations list, or everything. */
export interface NamedLocks {
  /** Waits for the locks of these names, or of everything if `names` is undefined. `failedAttempts` is the number of attempts that failed by interference. */
  begin(names: readonly string[] | undefined, failedAttempts: number): void
  /** Returns true if no other transaction writes until the end of this transaction. */
  isExclusive(): boolean
  /**
   * Requests the lock of another name without waiting. If another transaction has the lock, this transaction is undone, and its next attempt requests
   * the lock at the beginning.
   * @returns the statement that requests the lock and returns the number for a message that is written afterwards, or undefined if this transaction has the lock already
   */
  reserve(name: string): PendingStatement | undefined
  /** Waits for the locks of these names, at the end of a transaction that requests no further locks. */
  waitFor(names: readonly string[]): void
}

type AddStatement = (statement: PlainStatement, values: readonly (string | number)[]) => PendingStatement

/** Creates the locks of one attempt. `requestedNames` are the names that this attempt and earlier ones requested while they ran. */
export function createNamedLocks(keys: LockKeys, add: AddStatement, requestedNames: Set<string>): NamedLocks {
  let lockedNames: ReadonlySet<string> = new Set()
  let isExclusive = true

  function requestLocks(names: Iterable<string>): void {
    const lockKeys = keys.deriveKeys(names)
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
      return add(lockStatements.tryLock, [keys.deriveKey(name)])
    },
    waitFor: requestLocks,
  }
}

const lockStatements = {
  lockEverything: createStatement('SELECT pg_advisory_xact_lock($1)'),
  shareEverything: createStatement('SELECT pg_advisory_xact_lock_shared($1)'),
  // The server acquires the locks in the order of the list.
  lockAll: createStatement('SELECT count(pg_advisory_xact_lock(key)) FROM unnest(CAST($1 AS BIGINT[])) AS key'),
  // The number is drawn after the lock was acquired, so that a message of a thread with a higher number also becomes visible later.
  tryLock: createStatement(
    "SELECT CASE WHEN must_hold(pg_try_advisory_xact_lock($1)) THEN nextval('messages_seq_seq') END AS number",
  ),
}
