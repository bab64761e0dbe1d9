import type { PendingStatement, PlainStatement } from '../connection/statement-session.ts'
import { nameStatement } from '../connection/statement-session.ts'
import type { LockKeys } from './lock-keys.ts'

/** Locks of one transaction at most, so that gateways do not use up those of the server: 6,400 of all connections, if nobody has set it. */
export const mostNames = 512
/** Undone so often, a transaction keeps all others out. */
const mostUndone = 2

/** What a transaction keeps other gateways from touching meanwhile: by the names its operations give, or everything. */
export interface NamedLocks {
  /** Waits for who has these; undefined: for all others. `undone`: how often others were in the way. */
  begin(names: readonly string[] | undefined, undone: number): void
  /** Whether nobody else writes until the end of the transaction. */
  isAlone(): boolean
  /**
   * Asks for one more name, and does not wait for who has it: then the transaction is undone, and asks for it at its beginning. Undefined: it is
   * held. @returns the statement that asks for it, and gives a number for a message that comes behind the lock
   */
  reserve(name: string): PendingStatement | undefined
  /** Waits, at the end of a transaction, when it asks for nothing else any more. */
  waitFor(names: readonly string[]): void
}

type Add = (statement: PlainStatement, values: readonly (string | number)[]) => PendingStatement

/** `wanted`: names that were asked for while the transaction ran and was undone; more are added to it. */
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
  // In the order of the list.
  takeAll: nameStatement('SELECT count(pg_advisory_xact_lock(key)) FROM unnest(CAST($1 AS BIGINT[])) AS key'),
  // The number is taken once the lock is held: what is numbered later in a thread is also seen later.
  tryOne: nameStatement(
    "SELECT CASE WHEN must_hold(pg_try_advisory_xact_lock($1)) THEN nextval('messages_seq_seq') END AS number",
  ),
}
