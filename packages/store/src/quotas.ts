import type { DatabaseSync } from 'node:sqlite'
import type { TurnQuota } from '@postern/core'
import { prepareQuery } from './database.ts'

export interface QuotaTable {
  /** Takes one turn of the thread's quota; false when it is used up. A new time begins when the old one is over. */
  take(thread: number, quota: TurnQuota, now: number): boolean
}

export function createQuotaTable(db: DatabaseSync): QuotaTable {
  const take = prepareQuery(
    db,
    `INSERT INTO turn_quotas (thread_id, began_at, used) VALUES (?1, ?2, 1) ON CONFLICT DO UPDATE SET
       used = CASE WHEN began_at <= ?3 THEN 1 ELSE used + 1 END,
       began_at = CASE WHEN began_at <= ?3 THEN ?2 ELSE began_at END
     WHERE began_at <= ?3 OR used < ?4`,
  )
  return {
    take: (thread, { turns, withinMs }, now) => turns > 0 && take.run(thread, now, now - withinMs, turns).changes > 0,
  }
}
