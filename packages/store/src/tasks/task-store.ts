// Lists, reads and cancels tasks.

import type { TaskFilter, TaskRecord, TaskStore } from '@postern/pipeline'
import type { AdmitNewMessage } from '../messages/refusals.ts'
import type { ResponseTable } from '../messages/responses.ts'
import type { TurnTable } from '../queue/turns/turn-table.ts'
import { defineLazyMembers } from '../sql/lazy-members.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import { createCancelEvents } from './cancel-events.ts'
import type { TaskCancel } from './cancel-task.ts'
import type { ExpiryDeps } from './expiry.ts'
import { createTaskExpiry } from './expiry.ts'
import type { TaskRow } from './task-table.ts'
import { taskColumns as columns, createTaskLookup, createTaskRecorder, maxEntryBytes } from './task-table.ts'
import type { WatchTable } from './watches.ts'
import { createWatchStore } from './watches.ts'

const taskFilter = `owner = ?1 AND updated_at >= ?2 AND (?3 IS NULL OR agent = ?3) AND (?4 IS NULL OR context = ?4)
  AND (?5 IS NULL OR state = ?5)`

interface TaskStoreDeps extends ExpiryDeps {
  readonly turns: TurnTable
  readonly watches: WatchTable
  readonly taskCancel: TaskCancel
  readonly responses: ResponseTable
  readonly admitNewMessage: AdmitNewMessage
}

export function createTaskStore(context: StoreContext, tables: TaskStoreDeps): TaskStore {
  const { db } = context
  const listNewestFirst = db.prepare<TaskRow>(
    `SELECT ${columns} FROM tasks WHERE ${taskFilter} AND (updated_at, native_id) < (?6, ?7)
     ORDER BY updated_at DESC, native_id DESC LIMIT +?8`,
  )
  const listOldestFirst = db.prepare<TaskRow>(
    `SELECT ${columns} FROM tasks WHERE ${taskFilter} AND (updated_at, native_id) > (?6, ?7)
     ORDER BY updated_at, native_id LIMIT +?8`,
  )
  const countAll = db.prepare<{ total: number }>(`SELECT count(*) AS total FROM tasks WHERE ${taskFilter}`)
  const findLast = db.prepare<{ message: number | null }>(
    `SELECT max(messages.seq) AS message FROM tasks JOIN messages ON messages.task_id = tasks.id AND messages.kind = 'message'
     WHERE tasks.owner = ? AND tasks.native_id = ?`,
  )
  const toRecord = createTaskRecorder(db)

  function* readResponse({ response_seq: seq }: TaskRow) {
    return seq === null ? undefined : (yield* tables.responses.find(seq))?.response
  }

  /** Builds the record of a listed task. The answer may be large, so it is read at the first access. By then the task may have expired. */
  function toListedRecord(row: TaskRow, maxBytes: number): TaskRecord {
    return defineLazyMembers<TaskRecord, 'response'>(toRecord(row, undefined, maxBytes), {
      response: () => readResponse(row),
    })
  }

  return {
    findTask: createTaskLookup(db, toRecord),
    findTaskMessage: ({ owner, id }) =>
      db.read(function* () {
        return (yield* findLast.get(owner, id))?.message ?? undefined
      }),
    listTasks(filter) {
      return db.read(function* () {
        const filterParameters = filterValues(filter)
        const isRising = filter.order === 'rising'
        const { updatedAt, id } = filter.after ?? { updatedAt: isRising ? 0 : Number.MAX_SAFE_INTEGER, id: '' }
        const rows = yield* (isRising ? listOldestFirst : listNewestFirst).all(
          ...filterParameters,
          updatedAt,
          id,
          filter.limit,
        )
        const tasks = rows.map(row => toListedRecord(row, Math.floor(maxEntryBytes / rows.length)))
        return { tasks, total: (yield* countAll.get(...filterParameters))?.total ?? 0 }
      })
    },
    cancelTask: createCancel(context, tables),
    ...createTaskExpiry(context, tables),
    ...createWatchStore(context, tables.watches),
  }
}

function filterValues({ owner, updatedSince, agent, context, state }: TaskFilter): readonly (string | number | null)[] {
  return [owner, updatedSince ?? 0, agent ?? null, context ?? null, state ?? null]
}

/** Creates the function that cancels a task and all its open turns, even leased ones. The next turns of their threads become ready. */
function createCancel(
  { db, write, now }: StoreContext,
  { turns, taskCancel, ...deps }: Pick<TaskStoreDeps, 'turns' | 'taskCancel' | 'admitNewMessage' | 'responses'>,
): TaskStore['cancelTask'] {
  const find = db.prepare<{ id: number }>('SELECT id FROM tasks WHERE owner = ? AND native_id = ?')
  // The newest turn is canceled first. Then the messages of other tasks that were merged with it get their own turns.
  const listOpen = db.prepare<{ message: number }>(
    'SELECT message FROM turns WHERE task_id = ? AND ended_at IS NULL ORDER BY message DESC',
  )
  const queueEvent = createCancelEvents(db, deps)
  return ({ owner, id }, event) =>
    write(function* (batch) {
      const task = yield* find.get(owner, id)
      if (!task || !(yield* taskCancel.cancel(batch, task.id, now()))) return false
      for (const { message } of yield* listOpen.all(task.id)) yield* turns.cancelMessageTurn(batch, message, now())
      if (event) yield* queueEvent(batch, task.id, event)
      return true
    })
}
