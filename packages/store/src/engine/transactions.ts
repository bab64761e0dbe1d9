import type { Touching } from '../together/waves.ts'
import type { Batch, Database } from './database.ts'
import { prepareQuery } from './database.ts'

/** One of those that share a transaction has failed, and it alone; the others may try without it. */
export class OperationFailed extends Error {}

/** When what was committed so far is on the disk, asked for beside the event loop. */
export interface DurabilityPoint {
  /** `error`: the disk did not take it, what was committed may be lost. Called back without a promise: this is done for every transaction. */
  reach(tell: (error: Error | undefined) => void): void
}

/** An operation of a transaction. What it touches is told, but for what `Batch.reserve` names while it runs. */
export interface Share extends Touching {
  readonly operation: (batch: Batch) => unknown
}

interface TransactionTerms {
  /** Whoever waits for it waits for the disk. */
  readonly isDurable: boolean
  /** What it consists of. Absent: it may change anything. */
  readonly shares?: readonly Share[] | undefined
  /** How often it has been begun and undone because others were in its way. */
  readonly undone?: number | undefined
}

/** How an engine begins and ends what is written together. */
export interface Transactions {
  begin(terms: TransactionTerms): void
  /** @throws OperationFailed where the engine tells only now that a statement has failed */
  commit(batch: Batch): void
  /** Of one that may have ended already: a full disk, a lost connection. */
  rollback(batch?: Batch): void
  /** Runs what a transaction consists of, in an order that makes no difference to it; absent: one after another. */
  readonly runAll?: ((shares: readonly Share[], batch: Batch) => readonly unknown[]) | undefined
  /** How many of these, from the first on, may share a transaction: one at least; absent: all. */
  readonly countTogether?: ((shares: readonly Share[]) => number) | undefined
  /** Whether others were in the way of a transaction that was undone, so that it is worth another try; absent: never. */
  readonly isWorthAnother?: ((error: unknown, undone: number) => boolean) | undefined
  /** Where a commit that has ended is not on the disk yet; absent: it is. */
  readonly durability?: DurabilityPoint | undefined
}

/** `check`: whether there is still something to write to. `durability`: what the file has beside `synchronous=NORMAL`. */
export function createSqliteTransactions(
  db: Database,
  {
    check = () => {},
    durability,
  }: { readonly check?: () => void; readonly durability?: DurabilityPoint | undefined } = {},
): Transactions {
  const begin = prepareQuery(db, 'BEGIN IMMEDIATE')
  const commit = prepareQuery(db, 'COMMIT')
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
