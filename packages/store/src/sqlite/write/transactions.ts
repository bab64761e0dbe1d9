// Begins, commits and undoes transactions of SQLite.
import type { FileDatabase } from '../../sql/sql.ts'

/** The error of a transaction in which one operation failed. The other operations may be tried without it. */
export class OperationFailed extends Error {}

/** The error of a transaction with answers of its own turns. The messages may be stored without these answers. */
export class AnswerFailed extends OperationFailed {}

/** Waits for the commits so far to reach the disk, beside the event loop. */
export interface DurabilityPoint {
  /** Calls `onSynced` when the disk has the commits. With `error` they may be lost. A callback costs less than a promise, and each transaction needs one. */
  reach(onSynced: (error: Error | undefined) => void): void
}

/** Begins and ends transactions of SQLite. */
export interface Transactions {
  begin(): void
  commit(): void
  /** Undoes the transaction, unless it has ended by itself, as on a full disk. */
  rollback(): void
  /** Waits for the disk. Without this member a commit is on disk when it ends. */
  readonly durability?: DurabilityPoint | undefined
}

/** Creates the transactions of a file. `check` throws if the file is lost. `durability` waits for the disk where commits do not. */
export function createSqliteTransactions(
  db: Pick<FileDatabase, 'prepare' | 'exec' | 'isTransaction'>,
  {
    check = () => {},
    durability,
  }: { readonly check?: () => void; readonly durability?: DurabilityPoint | undefined } = {},
): Transactions {
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  return {
    durability,
    begin() {
      check()
      begin.run()
    },
    commit: () => void commit.run(),
    rollback() {
      if (db.isTransaction) db.exec('ROLLBACK')
    },
  }
}
