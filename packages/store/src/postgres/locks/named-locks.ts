// Locks names against other gateways.
import type { PendingStatement, PlainStatement } from '../connection/statement-session.ts'
import { nameStatement } from '../connection/statement-session.ts'
import type { LockKeys } from './lock-keys.ts'

/** The most locks of one transaction, so that gateways do not exhaust those of the server: 6,400 for all connections by default. */
export const mostNames = 512
/** The number of undone tries after which a transaction keeps all others out. */
const mostUndone = 2

/** Locks that keep other gateways away from what a transaction touches: the names that its operations give, or everything. */
export interface NamedLocks {
  /** Waits for the locks of these names; undefined: for all other transactions. `undone`: the number of tries that failed because of others. */
  begin(names: readonly string[] | undefined, undone: number): void
  /** Returns true if nobody else writes until the end of the transaction. */
  isAlone(): boolean
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

/** Creates the locks of one try. `wanted` has the names that earlier tries requested while they ran, and gets further ones. */
export function createNamedLocks(keys: LockKeys, add: Add, wanted: Set<string>): NamedLocks {
  let held: ReadonlySet<string> = new Set()
  let isAlone = true

  function takeAll(names: Iterable<string>): void {
    const taken = keys.keysOf(names)
    if (taken.length > 0) add(own.takeAll, [`{${taken.join()}}`])
  }

  return {
    begin(names, undone) {
      isAlone = undone >= mostUndone || names === undefined
      add(isAlone ? own.takeEverything : own.shareEverything, [keys.everything])
      held = isAlone ? new Set() : new Set([...(names ?? []), ...wanted])
      takeAll(held)
    },
    isAlone: () => isAlone,
    reserve(name) {
      if (isAlone || held.has(name)) return undefined
      wanted.add(name)
      return add(own.tryOne, [keys.keyOf(name)])
    },
    waitFor: takeAll,
  }
}

const own = {
  takeEverything: nameStatement('SELECT pg_advisory_xact_lock($1)'),
  shareEverything: nameStatement('SELECT pg_advisory_xact_lock_shared($1)'),
  // The server acquires the locks in the order of the list.
  takeAll: nameStatement('SELECT count(pg_advisory_xact_lock(key)) FROM unnest(CAST($1 AS BIGINT[])) AS key'),
  // The number is drawn once the lock is held, so that a later number in a thread also becomes visible later.
  tryOne: nameStatement(
    "SELECT CASE WHEN must_hold(pg_try_advisory_xact_lock($1)) THEN nextval('messages_seq_seq') END AS number",
  ),
}
