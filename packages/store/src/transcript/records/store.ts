import type { Json, Page } from '@postern/core'
import { Rejection } from '@postern/core'
import type { RecordKey, RecordQuota, RecordStore, StoredRecord } from '@postern/transcript'
import type { Sql } from '../../engine/database.ts'
import { formatJson, parseJson, rowLocksOf } from '../../engine/database.ts'
import type { StoreContext } from '../../engine/store-context.ts'
import { endZeroTotals } from '../../engine/totals/zero-totals.ts'

interface RecordRow {
  readonly key: string
  readonly version: number
  readonly value: string
}

/** Of what is over, at each insertion: more than one, so that it does not grow. */
const mostPurged = 20

export interface OwnedRecordStore extends RecordStore {
  /** All records of an owner; how many there were. */
  removeOwner(owner: string): Promise<number>
  /** Newest first; `after`: the place of the last one of the page before. */
  listPage(kind: string, owner: string, page: Page): Promise<readonly (StoredRecord & { readonly place: number })[]>
  /** What is counted of an owner's records. */
  readRoom(owner: string): Promise<RecordQuota>
}

/** Small records beside the transcript, in the same file. */
export function createRecordStore({ db, write, now, scrub }: StoreContext): OwnedRecordStore {
  const queries = prepareRecordQueries(db)
  const kept = createKeptDataTable(db)
  const placed = ({ kind, owner, key }: RecordKey) => [kind, owner, key] as const
  return {
    async get(place) {
      const row = queries.find.get(...placed(place), now())
      return row && readRecord(row)
    },
    insert: (place, value, { message = null, person = null, until = null, most } = {}) =>
      write(
        () => {
          queries.purge.run(now())
          queries.endOver.run(...placed(place), now())
          return kept.within(place.owner, most, () => {
            return queries.insert.run(...placed(place), formatJson(value), message, person, until).changes > 0
          })
        },
        { touches: () => listTouched(place, most) },
      ),
    swap: (place, version, value, ties) =>
      write(
        () => {
          const { message = null, person = null, until = null, most } = ties ?? {}
          if (message !== null && !queries.hasMessage.get(message)) return false
          return kept.within(place.owner, most, () => {
            const isFirst = queries.swap.run(formatJson(value), ...placed(place), version).changes > 0
            if (isFirst && ties) queries.tie.run(...placed(place), message, person, until)
            return isFirst
          })
        },
        { touches: () => listTouched(place, ties?.most) },
      ),
    put: (place, value) =>
      write(() => void queries.put.run(...placed(place), formatJson(value)), { touches: () => listTouched(place) }),
    remove: place => write(() => void queries.remove.run(...placed(place)), { touches: () => listTouched(place) }),
    async removeOwner(owner) {
      const removed = await write(() => {
        const { changes } = queries.removeOwner.run(owner)
        // Also where there is none: several gateways may have added up to nothing.
        queries.endKept.run(owner)
        return changes
      })
      scrub()
      return removed
    },
    readRoom: async owner => kept.read(owner),
    list: async (kind, owner, { limit = -1, offset = 0 } = {}) =>
      queries.list.all(kind, owner, now(), limit, offset).map(readRecord),
    listPage: async (kind, owner, { limit, after = Number.MAX_SAFE_INTEGER }) =>
      queries.listPage.all(owner, kind, after, now(), limit).map(row => ({ ...readRecord(row), place: row.id })),
  }
}

/** `most`: what its owner may have of records is compared with what they have. */
function listTouched({ kind, owner, key }: RecordKey, most?: RecordQuota): readonly string[] {
  return [JSON.stringify(['record', kind, owner, key]), ...(most ? [JSON.stringify(['kept', owner])] : [])]
}

function prepareRecordQueries(db: Sql) {
  const at = 'kind = ? AND owner = ? AND key = ?'
  const isThere = '(expires_at IS NULL OR expires_at > ?)'
  return {
    find: db.prepare<RecordRow>(`SELECT key, version, value FROM records WHERE ${at} AND ${isThere}`),
    insert: db.prepare(
      `INSERT OR IGNORE INTO records (kind, owner, key, version, value, message, person, expires_at)
     SELECT ?1, ?2, ?3, 1, ?4, ?5, ?6, ?7 WHERE EXISTS (SELECT 1 FROM messages WHERE seq = ?5 AND kind = 'message') OR ?5 IS NULL`,
    ),
    purge: db.prepare(
      `DELETE FROM records WHERE id IN
       (SELECT id FROM records WHERE expires_at <= ? ORDER BY expires_at LIMIT +${mostPurged} ${rowLocksOf(db).skipLocked})`,
    ),
    endOver: db.prepare(`DELETE FROM records WHERE ${at} AND expires_at <= ?`),
    swap: db.prepare(`UPDATE records SET version = version + 1, value = ? WHERE ${at} AND version = ?`),
    tie: db.prepare(
      `UPDATE records SET message = ?4, person = ?5, expires_at = ?6 WHERE kind = ?1 AND owner = ?2 AND key = ?3`,
    ),
    hasMessage: db.prepare("SELECT 1 FROM messages WHERE seq = ? AND kind = 'message'"),
    put: db.prepare(
      `INSERT INTO records (kind, owner, key, version, value) VALUES (?, ?, ?, 1, ?)
     ON CONFLICT (kind, owner, key) DO UPDATE SET version = records.version + 1, value = excluded.value`,
    ),
    remove: db.prepare(`DELETE FROM records WHERE ${at}`),
    removeOwner: db.prepare('DELETE FROM records WHERE owner = ?'),
    endKept: db.prepare(endZeroTotals('kept_data', ['records', 'bytes'])),
    list: db.prepare<RecordRow>(
      `SELECT key, version, value FROM records WHERE kind = ? AND owner = ? AND ${isThere}
     ORDER BY id DESC LIMIT +? OFFSET +?`,
    ),
    listPage: db.prepare<RecordRow & { readonly id: number }>(
      `SELECT id, key, version, value FROM records INDEXED BY records_owner
     WHERE owner = ? AND kind = ? AND id < ? AND ${isThere} ORDER BY id DESC LIMIT +?`,
    ),
  }
}

function readRecord({ key, version, value }: RecordRow): StoredRecord {
  return { key, version, value: parseJson<Json>(value) }
}

/** How much agents keep beside what is said: totals that triggers carry on. Synchronous: inside a write. */
interface KeptDataTable {
  read(owner: string): RecordQuota
  /** Does it, if the owner has not more then than they may; less than before is always allowed. @throws Rejection too_large */
  within<Result>(owner: string, most: RecordQuota | undefined, act: () => Result): Result
}

const nothing: RecordQuota = { records: 0, bytes: 0 }
const kinds = ['records', 'bytes'] as const

function createKeptDataTable(db: Sql): KeptDataTable {
  const find = db.prepare<RecordQuota>(
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
