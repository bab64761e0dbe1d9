// Declares the storage of A2A tasks and the watches on them.

import type { Intake } from '../records/intake.ts'
import type { TaskExpiry, TaskFilter, TaskKey, TaskRecord, TaskWatch } from '../records/task.ts'

/** The message that informs an agent about the cancellation of a task in which it has asked a question. */
export interface TaskCancelEvent {
  readonly correlationId: string
  /** Describes the cancellation as a message of the caller. `question` is the id of the answer that asks the question. It has no side effects. */
  describe(question: string): Omit<Intake, 'duplicateKey' | 'task'>
}

/** The flag of the message that informs an agent about a cancellation. */
export const taskCanceledFlag = 'task_canceled'

/** The store of tasks. Owner and id together are the key, so the task of another owner does not exist for a caller. */
export interface TaskStore {
  findTask(key: TaskKey): Promise<TaskRecord | undefined>
  /** Returns our number of the last message of a task. */
  findTaskMessage(key: TaskKey): Promise<number | undefined>
  listTasks(filter: TaskFilter): Promise<{ readonly tasks: readonly TaskRecord[]; readonly total: number }>
  /**
   * Sets an open task to `canceled` (compare-and-set). Returns true if it was open. A later commit for it fails with `LeaseLost`. If the last answer
   * of the task asks a question, the same transaction queues the turn of `event`. That turn does not belong to the task, so its answer is not shown
   * there.
   */
  cancelTask(key: TaskKey, event?: TaskCancelEvent): Promise<boolean>
  /**
   * Deletes inactive tasks with all their messages, oldest first. One call deletes at most `limit` tasks, and a limited number of messages. A task with
   * an open turn or delivery stays, and so does the task of the newest entry. `isDone` is false if another call may delete more.
   */
  expireTasks(expiry: TaskExpiry): Promise<{ readonly removed: number; readonly isDone: boolean }>
  /** Adds a watch, or replaces the watch with the same id. Returns `full` if the task already has `maxWatches` others. */
  watchTask(key: TaskKey, watch: TaskWatch): Promise<'watching' | 'full' | 'unknown'>
  /** Lists the watches in the order of their ids; the list is empty for an unknown task. */
  listWatches(key: TaskKey): Promise<readonly TaskWatch[]>
  /** Ends a watch, so that no further notification is queued for it. */
  endWatch(key: TaskKey, id: string): Promise<void>
}
