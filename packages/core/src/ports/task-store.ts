import type { TaskKey, TaskWatch } from './records/task.ts'
import type { TaskExpiry, TaskFilter, TaskRecord } from './records/task-record.ts'

/** Owner and id together are the key: another owner's task does not exist. */
export interface TaskStore {
  findTask(key: TaskKey): Promise<TaskRecord | undefined>
  listTasks(filter: TaskFilter): Promise<{ readonly tasks: readonly TaskRecord[]; readonly total: number }>
  /** Compare-and-set to `canceled`: true if it was open. A later commit for it is refused with `LeaseLost`. */
  cancelTask(key: TaskKey): Promise<boolean>
  /**
   * Takes tasks out in which nothing happens any more, with all that was said in them; the oldest first, `limit` at most. Those somebody works
   * on or is still to be told of stay. `isDone`: there are no more.
   */
  expireTasks(expiry: TaskExpiry): Promise<{ readonly removed: number; readonly isDone: boolean }>
  /** Adds a watch, or replaces the one of its id. `full`: `maxWatches` others watch already. */
  watchTask(key: TaskKey, watch: TaskWatch): Promise<'watching' | 'full' | 'unknown'>
  /** In the order of their ids; none for a task that does not exist. */
  listWatches(key: TaskKey): Promise<readonly TaskWatch[]>
  /** Nothing more is queued for it. */
  endWatch(key: TaskKey, id: string): Promise<void>
}
