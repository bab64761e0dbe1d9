// Begins, commits and undoes transactions of SQLite.
import type { FileDatabase } from '../../sql/file-sql.ts'

/** The error of a transaction in which one operation failed. The other operations may succeed without it. */
export class OperationFailed extends Error {}

/** The error of a transaction with answers of turns that began within it. The messages may be stored without these answers. */
export class AnswerFailed extends OperationFailed {}

/** Waits outside the event loop until all previous commits are on disk. */
export interface DurabilityPoint {
  /** Calls `onSynced` when the commits are on disk. With an `error` they may be lost. A callback costs less than a promise, and each transaction needs one. */
  whenReached(onSynced: (error: Error | undefined) => void): void
}

/** Begins and ends transactions of SQLite. */
export interface Transactions {
  begin(): void
  commit(): void
  /** Undoes the transaction, unless SQLite has ended it already, such as on a full disk. */
  rollback(): void
  /** Waits for the disk. Without this member, a commit is on disk when it returns. */
  readonly durability?: DurabilityPoint | undefined
}

/** Creates the transactions of a file. `check` throws if the file is lost. `durability` waits for the disk if commits do not wait. */
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
