// Prepares the statements of the records table.
import type { Sql } from '../../sql/sql.ts'
import { formatZeroTotalDeletion } from '../../transaction/zero-totals.ts'

/** The maximum number of expired records that one insertion deletes. It is more than one, so that the table shrinks after a flood. */
const maxPurged = 20

export function prepareRecordQueries(db: Sql) {
  const keyCondition = 'kind = ? AND owner = ? AND key = ?'
  const unexpiredCondition = '(expires_at IS NULL OR expires_at > ?)'
  return {
    findTies: db.prepare<TiesRow>(
      `SELECT message, person, expires_at FROM records WHERE ${keyCondition} AND ${unexpiredCondition}`,
    ),
    find: db.prepare<RecordRow>(
      `SELECT key, version, value FROM records WHERE ${keyCondition} AND ${unexpiredCondition}`,
    ),
    insert: db.prepare(
      `INSERT OR IGNORE INTO records (kind, owner, key, version, value, message, person, expires_at)
     SELECT ?1, ?2, ?3, 1, ?4, ?5, ?6, ?7 WHERE EXISTS (SELECT 1 FROM messages WHERE seq = ?5 AND kind = 'message') OR ?5 IS NULL`,
    ),
    purge: db.prepare(
      `DELETE FROM records WHERE id IN
       (SELECT id FROM records WHERE expires_at <= ? ORDER BY expires_at LIMIT +${maxPurged} ${db.rowLocks.skipLocked})`,
    ),
    deleteExpired: db.prepare(`DELETE FROM records WHERE ${keyCondition} AND expires_at <= ?`),
    swap: db.prepare(`UPDATE records SET version = version + 1, value = ? WHERE ${keyCondition} AND version = ?`),
    tie: db.prepare(
      `UPDATE records SET message = ?4, person = ?5, expires_at = ?6 WHERE kind = ?1 AND owner = ?2 AND key = ?3`,
    ),
    hasMessage: db.prepare("SELECT 1 FROM messages WHERE seq = ? AND kind = 'message'"),
    put: db.prepare(
      `INSERT INTO records (kind, owner, key, version, value) VALUES (?, ?, ?, 1, ?)
     ON CONFLICT (kind, owner, key) DO UPDATE SET version = records.version + 1, value = excluded.value`,
    ),
    remove: db.prepare(`DELETE FROM records WHERE ${keyCondition}`),
    removeOwner: db.prepare('DELETE FROM records WHERE owner = ?'),
    deleteZeroTotals: db.prepare(formatZeroTotalDeletion('kept_data', ['records', 'bytes'])),
    list: db.prepare<RecordRow>(
      `SELECT key, version, value FROM records WHERE kind = ? AND owner = ? AND ${unexpiredCondition}
     ORDER BY id DESC LIMIT +? OFFSET +?`,
    ),
    listPage: db.prepare<RecordRow & { readonly id: number }>(
      `SELECT id, key, version, value FROM records INDEXED BY records_owner
     WHERE owner = ? AND kind = ? AND id < ? AND ${unexpiredCondition} ORDER BY id DESC LIMIT +?`,
    ),
  }
}

export interface RecordRow {
  readonly key: string
  readonly version: number
  readonly value: string
}

export interface TiesRow extends Readonly<Partial<Record<'message' | 'expires_at', number | null | undefined>>> {
  readonly person?: string | null | undefined
}
