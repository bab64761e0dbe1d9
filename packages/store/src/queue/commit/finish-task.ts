// Finishes the tasks that an answer ends.
import type { TaskState } from '@postern/pipeline'
import type { AnswerPosition } from '../../messages/responses.ts'
import type { Operation } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'
import type { TaskTable } from '../../tasks/task-table.ts'
import { createTaskRecorder } from '../../tasks/task-table.ts'
import type { WatchTable } from '../../tasks/watches.ts'
import type { Batch } from '../../transaction/batch.ts'
import type { DeliveryCause } from '../deliveries/new-delivery.ts'
import type { MergedTurn } from '../turns/merge-turns.ts'
import type { AnswerColumns } from './answer-draft.ts'
import type { SettledTurn } from './end-turn.ts'

/** The tables to which the end of a task writes. */
interface TaskFinishingDeps {
  readonly tasks: TaskTable
  readonly watches: WatchTable
}

/** The end of a task with the delivery that announces it. */
interface TaskEnd extends DeliveryCause, AnswerPosition {
  readonly isWatched: boolean
}

/** Prepares the end of a turn's task. If the answer is in memory, the result is a function that reads the ended task. */
export function createTaskFinishing(db: Sql, { tasks, watches }: TaskFinishingDeps) {
  const toRecord = createTaskRecorder(db)
  return function* (
    batch: Batch,
    { answer, partialAnswer, taskState }: AnswerColumns,
    { isWatched, ...cause }: TaskEnd,
  ): Operation<SettledTurn['readTask']> {
    const { task, response, now: at } = cause
    if (task === undefined) return undefined
    const readRow = tasks.finish(task, taskState, response, at)
    if (isWatched) yield* watches.notify(batch, task, cause)
    if (!partialAnswer || answer.isRevision) return undefined
    return () => {
      const row = readRow()
      return row && toRecord(row, answer.response)
    }
  }
}

/** The end of tasks whose messages one answer covers. */
interface MergedEnd extends DeliveryCause, AnswerPosition {
  readonly merged: readonly MergedTurn[]
}

const endedStates: ReadonlySet<TaskState> = new Set(['completed', 'failed', 'rejected', 'canceled'])

/** Ends the tasks of earlier messages that the same answer covers. An answer with a question continues only the task of the last message. */
export function* finishMergedTasks(
  batch: Batch,
  { taskState }: AnswerColumns,
  { merged, ...mergedEnd }: MergedEnd,
  { tasks, watches }: TaskFinishingDeps,
): Operation<void> {
  const state = endedStates.has(taskState) ? taskState : 'completed'
  const lastMessages = new Map(merged.map(({ task_id, message }) => [task_id, message]))
  for (const [task, message] of lastMessages) {
    if (task === null || task === mergedEnd.task) continue
    tasks.finish(task, state, mergedEnd.response, mergedEnd.now)
    yield* watches.notify(batch, task, { ...mergedEnd, message })
  }
}
