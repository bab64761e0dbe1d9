import type { FileDatabase } from './database.ts'

/** One of those that share a transaction has failed, and it alone; the others may try without it. */
export class OperationFailed extends Error {}

/** When what was committed so far is on the disk, asked for beside the event loop. */
export interface DurabilityPoint {
  /** `error`: the disk did not take it, what was committed may be lost. Called back without a promise: this is done for every transaction. */
  reach(tell: (error: Error | undefined) => void): void
}

/** How SQLite begins and ends what is written together. */
export interface Transactions {
  begin(): void
  commit(): void
  /** Of one that may have ended already: a full disk. */
  rollback(): void
  /** Where a commit that has ended is not on the disk yet; absent: it is. */
  readonly durability?: DurabilityPoint | undefined
}

/** `check`: whether there is still something to write to. `durability`: what the file has beside `synchronous=NORMAL`. */
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
