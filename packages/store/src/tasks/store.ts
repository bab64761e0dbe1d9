import type { TaskFilter, TaskRecord, TaskStore } from '@postern/core'
import type { NewDelivery } from '../deliveries/queue.ts'
import type { StoreContext } from '../engine/store-context.ts'
import type { ResponseTable } from '../messages/responses.ts'
import type { OpenTurn, TurnTable } from '../turns/table.ts'
import { openTurnColumns } from '../turns/table.ts'
import type { ExpiryDeps } from './expiry.ts'
import { createTaskExpiry } from './expiry.ts'
import type { TaskRow } from './table.ts'
import { taskColumns as columns, createTaskLookup, createTaskRecorder, maxEntryBytes } from './table.ts'
import type { WatchTable } from './watches.ts'
import { createWatchStore } from './watches.ts'

const matches = `owner = ?1 AND updated_at >= ?2 AND (?3 IS NULL OR agent = ?3) AND (?4 IS NULL OR context = ?4)
  AND (?5 IS NULL OR state = ?5)`

interface TaskStoreDeps extends ExpiryDeps {
  readonly turns: TurnTable
  readonly watches: WatchTable
  readonly responses: ResponseTable
}

export function createTaskStore(context: StoreContext, tables: TaskStoreDeps): TaskStore {
  const { db } = context
  const list = db.prepare<TaskRow>(
    `SELECT ${columns} FROM tasks WHERE ${matches} AND (updated_at, native_id) < (?6, ?7)
     ORDER BY updated_at DESC, native_id DESC LIMIT +?8`,
  )
  const countAll = db.prepare<{ total: number }>(`SELECT count(*) AS total FROM tasks WHERE ${matches}`)
  const toRecord = createTaskRecorder(db)

  const readResponse = ({ response_seq: seq }: TaskRow) =>
    seq === null ? undefined : tables.responses.find(seq)?.response

  /** Of many tasks, each of which may have a large answer, those are read too only when they are looked at; by then they may have expired. */
  function toListedRecord(row: TaskRow, maxBytes: number): TaskRecord {
    let response: { readonly read: TaskRecord['response'] } | undefined
    return Object.defineProperty(toRecord(row, undefined, maxBytes), 'response', {
      enumerable: true,
      get() {
        response ??= { read: readResponse(row) }
        return response.read
      },
    })
  }

  return {
    findTask: createTaskLookup(db, toRecord),
    async listTasks(filter) {
      const wanted = filterValues(filter)
      const { updatedAt, id } = filter.after ?? { updatedAt: Number.MAX_SAFE_INTEGER, id: '' }
      const rows = list.all(...wanted, updatedAt, id, filter.limit)
      const tasks = rows.map(row => toListedRecord(row, Math.floor(maxEntryBytes / rows.length)))
      return { tasks, total: countAll.get(...wanted)?.total ?? 0 }
    },
    cancelTask: createCancel(context, tables),
    ...createTaskExpiry(context, tables),
    ...createWatchStore(context, tables.watches),
  }
}

function filterValues({ owner, updatedSince, agent, context, state }: TaskFilter): readonly (string | number | null)[] {
  return [owner, updatedSince ?? 0, agent ?? null, context ?? null, state ?? null]
}

/** Ends a task and all its open turns, whoever holds them; threads go on behind them. */
function createCancel(
  { db, write, now }: StoreContext,
  { turns, watches }: { readonly turns: TurnTable; readonly watches: WatchTable },
): TaskStore['cancelTask'] {
  const cancel = db.prepare<{ id: number }>(
    `UPDATE tasks SET state = 'canceled', updated_at = ?
     WHERE owner = ? AND native_id = ? AND state IN ('submitted', 'working', 'input_required', 'auth_required') RETURNING id`,
  )
  const findLast = db.prepare<Omit<NewDelivery, 'response' | 'now'>>(
    `SELECT seq AS message, thread_id AS thread, agent, channel FROM messages
     WHERE seq = (SELECT max(seq) FROM messages WHERE task_id = ? AND kind = 'message')`,
  )
  const findOpen = db.prepare<OpenTurn>(
    `SELECT ${openTurnColumns} FROM turns WHERE task_id = ? AND ended_at IS NULL ORDER BY message`,
  )
  return ({ owner, id }) =>
    write(batch => {
      const task = cancel.get(now(), owner, id)
      if (!task) return false
      const open = findOpen.all(task.id)
      for (const turn of open) turns.cancel(batch, turn, now())
      const last = findLast.get(task.id)
      if (last) watches.tell(batch, task.id, { ...last, response: undefined, now: now() })
      for (const thread of new Set(open.map(turn => turn.thread_id))) turns.promoteNext(batch, thread, now())
      return true
    })
}
