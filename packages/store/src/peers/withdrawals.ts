// Stores which objects their authors have deleted, because a message with such an object may arrive later.
import type { Authorship } from '@postern/pipeline'
import { withdrawalMemoryMs } from '@postern/pipeline'
import { digestName } from '../digests/digest-name.ts'
import type { Operation } from '../sql/operation.ts'
import type { WriterExclusivity } from '../sql/ownership.ts'
import type { Sql } from '../sql/sql.ts'
import { loadRareKeys } from './rare-keys.ts'

/** The table of objects that their authors deleted before the messages with these objects arrived. */
export interface WithdrawalTable {
  remember(via: string, authorship: Authorship, now: number): Operation<void>
  has(via: string, authorship: Authorship, now: number): Operation<boolean>
}

/** The maximum number of rows, because strangers can fill the table. New rows replace the oldest rows. */
const maxWithdrawals = 100_000

/**
 * The condition that matches names and their digests. Rows contain digests, so that they name nobody. Rows of earlier releases contain names until they
 * expire after 48 hours.
 */
const withdrawalCondition = 'author IN (?, ?) AND object IN (?, ?)'

function withdrawalValues({ author, object }: Authorship): [string, string, string, string] {
  return [author, digestName(author), object, digestName(object)]
}

/** Prepares a check whether an author has deleted an object, on any channel. */
export function createWithdrawalFinder(db: Sql): (authorship: Authorship) => Operation<boolean> {
  const find = db.prepare(`SELECT 1 FROM withdrawals WHERE ${withdrawalCondition}`)
  return function* (authorship) {
    return (yield* find.get(...withdrawalValues(authorship))) !== undefined
  }
}

export function createWithdrawalTable(db: Sql, ownership: WriterExclusivity): WithdrawalTable {
  const withdrawnKeys = loadRareKeys(db, 'SELECT channel, author, object FROM withdrawals', ownership)
  const insert = db.prepare<{ id: number }>(
    'INSERT INTO withdrawals (author, object, channel, expires_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id',
  )
  const find = db.prepare(`SELECT 1 FROM withdrawals WHERE ${withdrawalCondition} AND channel = ? AND expires_at > ?`)
  const mayHave = (via: string, { author, object }: Authorship) =>
    withdrawnKeys.mayHave([via, author, object]) || withdrawnKeys.mayHave([via, digestName(author), digestName(object)])
  // Each insert removes up to two expired rows, so the table shrinks again after a flood.
  const removeOld = db.prepare(
    `DELETE FROM withdrawals WHERE id IN (SELECT id FROM withdrawals WHERE id > 0 ORDER BY id LIMIT 2)
       AND (expires_at <= ?1 OR id <= ?2)`,
  )
  return {
    *remember(via, authorship, now) {
      const [author, object] = [digestName(authorship.author), digestName(authorship.object)]
      withdrawnKeys.add([via, author, object])
      const row = yield* insert.get(author, object, via, now + withdrawalMemoryMs)
      if (row) removeOld.run(now, row.id - maxWithdrawals)
    },
    *has(via, authorship, now) {
      return mayHave(via, authorship) && (yield* find.get(...withdrawalValues(authorship), via, now)) !== undefined
    },
  }
}
