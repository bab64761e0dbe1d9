import type { Json } from '@postern/core'
import type { RecordShelf, ShelfPlace, ShelfRecord } from '@postern/transcript'
import { formatJson, parseJson, prepareQuery } from '../database.ts'
import type { Store } from '../store.ts'

interface RecordRow {
  readonly key: string
  readonly version: number
  readonly value: string
}

/** Of what is over, at each insertion: more than one, so that it does not grow. */
const mostPurged = 20

export interface OwnedShelf extends RecordShelf {
  /** All records of an owner; how many there were. */
  removeOwner(owner: string): Promise<number>
}

/** Small records beside the transcript, in the same file. */
export function createRecordShelf({ db, write, now, scrub }: Store): OwnedShelf {
  const at = 'kind = ? AND owner = ? AND key = ?'
  const find = prepareQuery<RecordRow>(db, `SELECT key, version, value FROM records WHERE ${at}`)
  const insert = prepareQuery(
    db,
    `INSERT OR IGNORE INTO records (kind, owner, key, version, value, message, person, goes_at)
     SELECT ?1, ?2, ?3, 1, ?4, ?5, ?6, ?7 WHERE EXISTS (SELECT 1 FROM messages WHERE number = ?5) OR ?5 IS NULL`,
  )
  const purge = prepareQuery(
    db,
    `DELETE FROM records WHERE place IN
       (SELECT place FROM records WHERE goes_at <= ? ORDER BY goes_at LIMIT +${mostPurged})`,
  )
  const swap = prepareQuery(db, `UPDATE records SET version = version + 1, value = ? WHERE ${at} AND version = ?`)
  const put = prepareQuery(
    db,
    `INSERT INTO records (kind, owner, key, version, value) VALUES (?, ?, ?, 1, ?)
     ON CONFLICT (kind, owner, key) DO UPDATE SET version = records.version + 1, value = excluded.value`,
  )
  const remove = prepareQuery(db, `DELETE FROM records WHERE ${at}`)
  const removeOwner = prepareQuery(db, 'DELETE FROM records WHERE owner = ?')
  const list = prepareQuery<RecordRow>(
    db,
    'SELECT key, version, value FROM records WHERE kind = ? AND owner = ? ORDER BY place DESC LIMIT +? OFFSET +?',
  )
  const placed = ({ kind, owner, key }: ShelfPlace) => [kind, owner, key] as const
  return {
    async get(place) {
      const row = find.get(...placed(place))
      return row && readRecord(row)
    },
    insert: (place, value, { message = null, person = null, until = null } = {}) =>
      write(() => {
        purge.run(now())
        return insert.run(...placed(place), formatJson(value), message, person, until).changes > 0
      }),
    swap: (place, version, value) => write(() => swap.run(formatJson(value), ...placed(place), version).changes > 0),
    put: (place, value) => write(() => void put.run(...placed(place), formatJson(value))),
    remove: place => write(() => void remove.run(...placed(place))),
    async removeOwner(owner) {
      const removed = await write(() => removeOwner.run(owner).changes)
      scrub()
      return removed
    },
    list: async (kind, owner, { limit = -1, offset = 0 } = {}) => list.all(kind, owner, limit, offset).map(readRecord),
  }
}

function readRecord({ key, version, value }: RecordRow): ShelfRecord {
  return { key, version, value: parseJson<Json>(value) }
}
