import type { Authorship } from '@postern/core'
import { withdrawalMemoryMs } from '@postern/core'
import type { Database, Ownership } from '../engine/database.ts'
import { loadRareKeys, prepareQuery } from '../engine/database.ts'

/** What was taken back before it came, or while it was on its way. */
export interface WithdrawalTable {
  remember(via: string, authorship: Authorship, now: number): void
  has(via: string, authorship: Authorship, now: number): boolean
}

/** Strangers can fill this; the oldest make room. */
const maxRemembered = 100_000

export function createWithdrawalTable(db: Database, ownership: Ownership): WithdrawalTable {
  const known = loadRareKeys(db, 'SELECT channel, author, object FROM withdrawals', ownership)
  const insert = prepareQuery<{ id: number }>(
    db,
    'INSERT INTO withdrawals (author, object, channel, expires_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id',
  )
  const find = prepareQuery(
    db,
    'SELECT 1 FROM withdrawals WHERE author = ? AND object = ? AND channel = ? AND expires_at > ?',
  )
  // Each one that comes in takes two out, if their time is over: the table shrinks again after a flood.
  const removeOld = prepareQuery(
    db,
    `DELETE FROM withdrawals WHERE id IN (SELECT id FROM withdrawals WHERE id > 0 ORDER BY id LIMIT 2)
       AND (expires_at <= ?1 OR id <= ?2)`,
  )
  return {
    remember(via, { author, object }, now) {
      known.note([via, author, object])
      const row = insert.get(author, object, via, now + withdrawalMemoryMs)
      if (row) removeOld.run(now, row.id - maxRemembered)
    },
    has: (via, { author, object }, now) =>
      known.mayHave([via, author, object]) && find.get(author, object, via, now) !== undefined,
  }
}
