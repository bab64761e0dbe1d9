// Notifies the subscribers of tasks.
import type { Json } from '@postern/message'
import type { TaskState, TaskStore, TaskWatch, WatchTarget } from '@postern/pipeline'
import { maxWatches } from '@postern/pipeline'
import type { DeliveryTable } from '../queue/deliveries/delivery-table.ts'
import type { DeliveryCause } from '../queue/deliveries/new-delivery.ts'
import { formatJson, parseJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { Batch } from '../transaction/batch.ts'
import { destinationConflict, taskConflict } from '../transaction/conflict-keys.ts'
import type { StoreContext } from '../transaction/store-context.ts'

interface WatchRow {
  readonly id: string
  readonly destination: string
  readonly target: string
}

interface WatchedTask {
  readonly owner: string
  readonly native_id: string
  readonly context: string
  readonly state: TaskState
  readonly updated_at: number
}

export interface WatchTable {
  add(task: number, watch: TaskWatch): Operation<'watching' | 'full'>
  /** Queues deliveries of the task's new state to all its watchers. */
  notify(batch: Batch, task: number, cause: DeliveryCause): Operation<void>
}

export function createWatchTable(db: Sql, deliveries: Pick<DeliveryTable, 'enqueue'>): WatchTable {
  const countOthers = db.prepare<{ others: number }>(
    'SELECT count(*) AS others FROM push_subscriptions WHERE task_id = ? AND id <> ?',
  )
  const insert = db.prepare(
    `INSERT INTO push_subscriptions (task_id, id, destination, target) VALUES (?, ?, ?, ?)
     ON CONFLICT (task_id, id) DO UPDATE SET destination = excluded.destination, target = excluded.target`,
  )
  const list = prepareWatchList(db)
  const find = db.prepare<WatchedTask>('SELECT owner, native_id, context, state, updated_at FROM tasks WHERE id = ?')
  return {
    *add(task, { id, to, target }) {
      if (((yield* countOthers.get(task, id))?.others ?? 0) >= maxWatches) return 'full'
      insert.run(task, id, to, formatJson(target))
      return 'watching'
    },
    *notify(batch, task, cause) {
      const watches = yield* list.all(task)
      const watchedTask = watches.length > 0 ? yield* find.get(task) : undefined
      if (!watchedTask) return
      // The settlement of an earlier delivery to the same destination makes the next one due, so the two transactions must not overlap.
      for (const { destination } of watches) yield* batch.reserve(destinationConflict(cause.thread, destination))
      const plannedPushes = watches.map(({ id, destination }) => ({
        to: destination,
        target: toTarget(watchedTask, id),
      }))
      yield* deliveries.enqueue(batch, plannedPushes, cause)
    },
  }
}

function prepareWatchList(db: Sql) {
  return db.prepare<WatchRow>('SELECT id, destination, target FROM push_subscriptions WHERE task_id = ? ORDER BY id')
}

function toTarget({ owner, native_id, context, state, updated_at }: WatchedTask, watch: string): Json {
  const target: WatchTarget = { watch, owner, id: native_id, context, state, at: updated_at }
  return { ...target }
}

export function createWatchStore(
  { db, write }: StoreContext,
  watches: WatchTable,
): Pick<TaskStore, 'watchTask' | 'listWatches' | 'endWatch'> {
  const findTask = db.prepare<{ id: number }>('SELECT id FROM tasks WHERE owner = ? AND native_id = ?')
  const list = prepareWatchList(db)
  const remove = db.prepare('DELETE FROM push_subscriptions WHERE task_id = ? AND id = ?')
  return {
    watchTask: (key, watch) =>
      write(
        function* () {
          const task = yield* findTask.get(key.owner, key.id)
          return task ? yield* watches.add(task.id, watch) : 'unknown'
        },
        { conflictKeys: () => [taskConflict(key)] },
      ),
    listWatches(key) {
      return db.read(function* () {
        const task = yield* findTask.get(key.owner, key.id)
        const rows = task ? yield* list.all(task.id) : []
        return rows.map(({ id, destination, target }) => ({ id, to: destination, target: parseJson<Json>(target) }))
      })
    },
    endWatch: (key, id) =>
      write(
        function* () {
          const task = yield* findTask.get(key.owner, key.id)
          if (task) remove.run(task.id, id)
        },
        { conflictKeys: () => [taskConflict(key)] },
      ),
  }
}
