import type { Batch } from './batch.ts'
import type { Database } from './database.ts'
import { prepareQuery } from './database.ts'

/** One of those that share a transaction has failed, and it alone; the others may try without it. */
export class OperationFailed extends Error {}

/** How an engine begins and ends what is written together. */
export interface Transactions {
  /** `isDurable`: its end waits for the disk. */
  begin(isDurable: boolean): void
  /** @throws OperationFailed where the engine tells only now that a statement has failed */
  commit(batch: Batch): void
  /** Of one that may have ended already: a full disk, a lost connection. */
  rollback(): void
}

/** `check`: whether there is still something to write to. */
export function createSqliteTransactions(db: Database, check = () => {}): Transactions {
  const begin = prepareQuery(db, 'BEGIN IMMEDIATE')
  const commit = prepareQuery(db, 'COMMIT')
  const setDurable = createDurabilitySwitch(db)
  return {
    begin(isDurable) {
      check()
      setDurable(isDurable)
      begin.run()
    },
    commit: () => void commit.run(),
    rollback() {
      if (db.isTransaction) db.exec('ROLLBACK')
    },
  }
}

/** FULL waits for the disk at each commit; NORMAL leaves that to the next one that does. */
function createDurabilitySwitch(db: Database): (isDurable: boolean) => void {
  let isSetDurable = true
  return isDurable => {
    if (isDurable === isSetDurable) return
    db.exec(`PRAGMA synchronous = ${isDurable ? 'FULL' : 'NORMAL'}`)
    isSetDurable = isDurable
  }
}
