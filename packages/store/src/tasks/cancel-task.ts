// Ends tasks that will get no answer, and notifies their watchers.
import type { DeliveryCause } from '../queue/deliveries/new-delivery.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { Batch } from '../transaction/batch.ts'
import type { WatchTable } from './watches.ts'

export interface TaskCancel {
  /** Cancels a task and notifies its watchers. @returns true if the task was open */
  cancel(batch: Batch, task: number, now: number): Operation<boolean>
  /** Cancels a task whose turn was ended by a newer message, unless another turn of the task is open. */
  cancelUnlessOpen(batch: Batch, task: number, now: number): Operation<void>
}

export function createTaskCancel(db: Sql, watches: Pick<WatchTable, 'notify'>): TaskCancel {
  const endTask = db.prepare(
    `UPDATE tasks SET state = 'canceled', updated_at = ?
     WHERE id = ? AND state IN ('submitted', 'working', 'input_required', 'auth_required')`,
  )
  const findOpenTurn = db.prepare('SELECT 1 FROM turns WHERE task_id = ? AND ended_at IS NULL LIMIT 1')
  const findLastMessage = db.prepare<Omit<DeliveryCause, 'response' | 'now'>>(
    `SELECT seq AS message, thread_id AS thread, agent, channel FROM messages
     WHERE seq = (SELECT max(seq) FROM messages WHERE task_id = ? AND kind = 'message')`,
  )
  const cancel: TaskCancel['cancel'] = function* (batch, task, now) {
    if ((yield* endTask.change(now, task)) === 0) return false
    const lastMessage = yield* findLastMessage.get(task)
    if (lastMessage) yield* watches.notify(batch, task, { ...lastMessage, response: undefined, now })
    return true
  }
  return {
    cancel,
    *cancelUnlessOpen(batch, task, now) {
      if (!(yield* findOpenTurn.get(task))) yield* cancel(batch, task, now)
    },
  }
}
