// Checks the quota of the records of an owner.
import { Rejection } from '@postern/message'
import type { RecordQuota } from '@postern/transcript'
import type { Operation } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'

/** The totals of the records that agents store. Triggers update them. The members are operations of a write. */
interface RecordUsageTable {
  read(owner: string): Operation<RecordQuota>
  /** Runs `operation` and checks the quota afterwards. An operation that reduces the stored data is always allowed. @throws Rejection too_large */
  runWithinQuota<Result>(
    owner: string,
    quota: RecordQuota | undefined,
    operation: () => Operation<Result>,
  ): Operation<Result>
}

const emptyUsage: RecordQuota = { records: 0, bytes: 0 }

const quotaNames = ['records', 'bytes'] as const

export function createRecordUsageTable(db: Sql): RecordUsageTable {
  const find = db.prepare<RecordQuota>(
    'SELECT coalesce(sum(records), 0) AS records, coalesce(sum(bytes), 0) AS bytes FROM kept_data WHERE owner = ?',
  )
  function* read(owner: string): Operation<RecordQuota> {
    return { ...((yield* find.get(owner)) ?? emptyUsage) }
  }
  return {
    read,
    *runWithinQuota(owner, quota, operation) {
      if (!quota) return yield* operation()
      const previousUsage = yield* read(owner)
      const result = yield* operation()
      const newUsage = yield* read(owner)
      const exceededName = quotaNames.find(name => newUsage[name] > previousUsage[name] && newUsage[name] > quota[name])
      if (exceededName === undefined) return result
      throw new Rejection(
        'too_large',
        `Cannot keep: with it there would be more than ${quota[exceededName]} ${exceededName}`,
      )
    },
  }
}
