import { Rejection } from '@postern/core'
import type { RecordQuota } from '@postern/transcript'
import type { Database } from '../../engine/database.ts'
import { prepareQuery } from '../../engine/database.ts'

/** How much agents keep beside what is said: totals that triggers carry on. Synchronous: inside a write. */
interface KeptDataTable {
  read(owner: string): RecordQuota
  /** Does it, if the owner has not more then than they may; less than before is always allowed. @throws Rejection too_large */
  within<Result>(owner: string, most: RecordQuota | undefined, act: () => Result): Result
}

const nothing: RecordQuota = { records: 0, bytes: 0 }
const kinds = ['records', 'bytes'] as const

export function createKeptDataTable(db: Database): KeptDataTable {
  const find = prepareQuery<RecordQuota>(
    db,
    'SELECT coalesce(sum(records), 0) AS records, coalesce(sum(bytes), 0) AS bytes FROM kept_data WHERE owner = ?',
  )
  const read = (owner: string): RecordQuota => ({ ...(find.get(owner) ?? nothing) })
  return {
    read,
    within(owner, most, act) {
      if (!most) return act()
      const before = read(owner)
      const result = act()
      const after = read(owner)
      const exceeded = kinds.find(name => after[name] > before[name] && after[name] > most[name])
      if (exceeded === undefined) return result
      throw new Rejection('too_large', `Cannot keep: with it there would be more than ${most[exceeded]} ${exceeded}`)
    },
  }
}
