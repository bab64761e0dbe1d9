// Compares the stored records of an owner with their quota.
import { Rejection } from '@postern/message'
import type { RecordQuota } from '@postern/transcript'
import type { Sql } from '../../sql/sql.ts'

/** Totals of the records that agents keep. Triggers update them. The members run synchronously, inside a write. */
interface KeptDataTable {
  read(owner: string): RecordQuota
  /** Runs `act` and checks the quota afterwards. An act that stores less than before is always allowed. @throws Rejection too_large */
  within<Result>(owner: string, quota: RecordQuota | undefined, act: () => Result): Result
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
    within(owner, quota, act) {
      if (!quota) return act()
      const before = read(owner)
      const result = act()
      const after = read(owner)
      const exceeded = kinds.find(name => after[name] > before[name] && after[name] > quota[name])
      if (exceeded === undefined) return result
      throw new Rejection('too_large', `Cannot keep: with it there would be more than ${quota[exceeded]} ${exceeded}`)
    },
  }
}
