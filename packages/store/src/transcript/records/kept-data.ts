// Compares the stored records of an owner with their quota.
import { Rejection } from '@postern/message'
import type { RecordQuota } from '@postern/transcript'
import type { Sql } from '../../sql/sql.ts'

/** Totals of the records that agents keep. Triggers update them. The members run synchronously, inside a write. */
interface KeptDataTable {
  read(owner: string): RecordQuota
  /** Runs `act` and checks the quota afterwards. An act that stores less than before is always allowed. @throws Rejection too_large */
  runWithinQuota<Result>(owner: string, quota: RecordQuota | undefined, act: () => Result): Result
}

const emptyUsage: RecordQuota = { records: 0, bytes: 0 }

const kinds = ['records', 'bytes'] as const

export function createKeptDataTable(db: Sql): KeptDataTable {
  const find = db.prepare<RecordQuota>(
    'SELECT coalesce(sum(records), 0) AS records, coalesce(sum(bytes), 0) AS bytes FROM kept_data WHERE owner = ?',
  )
  const read = (owner: string): RecordQuota => ({ ...(find.get(owner) ?? emptyUsage) })
  return {
    read,
    runWithinQuota(owner, quota, operation) {
      if (!quota) return operation()
      const previousUsage = read(owner)
      const result = operation()
      const newUsage = read(owner)
      const exceededKind = kinds.find(name => newUsage[name] > previousUsage[name] && newUsage[name] > quota[name])
      if (exceededKind === undefined) return result
      throw new Rejection(
        'too_large',
        `Cannot keep: with it there would be more than ${quota[exceededKind]} ${exceededKind}`,
      )
    },
  }
}
