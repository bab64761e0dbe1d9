import type { TaskDesk, TaskFilter, TaskRecord, TaskState } from '@postern/core'
import { createCancel } from './cancel.ts'
import { prepareQuery } from './database.ts'
import { createTaskExpiry } from './expiry.ts'
import type { Store } from './store.ts'
import type { Tables } from './tables.ts'
import { createTaskEntryReader } from './task-entries.ts'
import { createWatchDesk } from './watches.ts'

interface TaskRow {
  readonly id: number
  readonly owner: string
  readonly native_id: string
  readonly agent: string
  readonly context: string
  readonly state: TaskState
  readonly updated_at: number
  readonly response_seq: number | null
}

/** Of what was said in the tasks of one answer, so much is read at most. */
const maxEntryBytes = 8 * 1024 * 1024

const columns = 'id, owner, native_id, agent, context, state, updated_at, response_seq'

const matches = `owner = ?1 AND updated_at >= ?2 AND (?3 IS NULL OR agent = ?3) AND (?4 IS NULL OR context = ?4)
  AND (?5 IS NULL OR state = ?5)`

export function createTaskDesk(store: Store, tables: Tables): TaskDesk {
  const { db } = store
  const find = prepareQuery<TaskRow>(db, `SELECT ${columns} FROM tasks WHERE owner = ? AND native_id = ?`)
  const list = prepareQuery<TaskRow>(
    db,
    `SELECT ${columns} FROM tasks WHERE ${matches} AND (updated_at, native_id) < (?6, ?7)
     ORDER BY updated_at DESC, native_id DESC LIMIT +?8`,
  )
  const countAll = prepareQuery<{ total: number }>(db, `SELECT count(*) AS total FROM tasks WHERE ${matches}`)
  const readEntries = createTaskEntryReader(db)

  const readResponse = ({ response_seq: seq }: TaskRow) =>
    seq === null ? undefined : tables.responses.find(seq)?.response

  /** What was said is read when it is looked at, and that once: few callers do. */
  function toRecord(row: TaskRow, maxBytes = maxEntryBytes): TaskRecord {
    let entries: TaskRecord['entries'] | undefined
    return {
      owner: row.owner,
      id: row.native_id,
      agent: row.agent,
      context: row.context,
      state: row.state,
      updatedAt: row.updated_at,
      get entries() {
        entries ??= readEntries(row.id, maxBytes)
        return entries
      },
      response: readResponse(row),
    }
  }

  /** Of many tasks, each of which may have a large answer, those are read too only when they are looked at; by then they may have expired. */
  function toListedRecord(row: TaskRow, maxBytes: number): TaskRecord {
    let response: { readonly read: TaskRecord['response'] } | undefined
    return Object.defineProperty(toRecord({ ...row, response_seq: null }, maxBytes), 'response', {
      enumerable: true,
      get() {
        response ??= { read: readResponse(row) }
        return response.read
      },
    })
  }

  return {
    async findTask({ owner, id }) {
      const row = find.get(owner, id)
      return row && toRecord(row)
    },
    async listTasks(filter) {
      const wanted = filterValues(filter)
      const { updatedAt, id } = filter.after ?? { updatedAt: Number.MAX_SAFE_INTEGER, id: '' }
      const rows = list.all(...wanted, updatedAt, id, filter.limit)
      const tasks = rows.map(row => toListedRecord(row, Math.floor(maxEntryBytes / rows.length)))
      return { tasks, total: countAll.get(...wanted)?.total ?? 0 }
    },
    cancelTask: createCancel(store, tables),
    ...createTaskExpiry(store, tables),
    ...createWatchDesk(store, tables.watches),
  }
}

function filterValues({ owner, updatedSince, agent, context, state }: TaskFilter): readonly (string | number | null)[] {
  return [owner, updatedSince ?? 0, agent ?? null, context ?? null, state ?? null]
}
