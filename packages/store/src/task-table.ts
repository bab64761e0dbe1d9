import type { TaskIntake, TaskState } from '@postern/core'
import type { Database } from './database.ts'
import { newIdOf, prepareQuery } from './database.ts'
import { endTaskTotal } from './task-bytes.ts'
import type { TaskRow } from './task-record.ts'
import { taskColumns } from './task-record.ts'

export interface TaskTable {
  /**
   * The row of a task that takes one more message; `ended`, or `full` when its owner has as many open ones as he may, or `taken` when it was to be
   * a new one.
   */
  continueTask(task: TaskIntake, agent: string, now: number): number | 'ended' | 'full' | 'taken'
  setWorking(task: number, now: number): void
  /** The row alone: what was said in it is gone. */
  remove(task: number): void
  /** A task ends with the last of its turns: while another one is open it cannot have ended. */
  finish(task: number, state: TaskState, responseSeq: number | undefined, now: number): TaskRow | undefined
}

const openStates: ReadonlySet<string> = new Set<TaskState>(['submitted', 'working', 'input_required', 'auth_required'])

export function createTaskTable(db: Database): TaskTable {
  const find = prepareQuery<{ id: number; state: TaskState }>(
    db,
    'SELECT id, state FROM tasks WHERE owner = ? AND native_id = ?',
  )
  const insert = prepareQuery<{ id: number }>(
    db,
    `INSERT INTO tasks (owner, native_id, agent, context, state, updated_at, share)
     VALUES (?, ?, ?, ?, 'submitted', ?, ?) RETURNING id`,
  )
  // Left to itself it would go through all tasks of the owner.
  const countOpen = prepareQuery<{ open: number }>(
    db,
    `SELECT count(*) AS open FROM (SELECT 1 FROM tasks INDEXED BY tasks_open WHERE owner = ? AND state IN ('submitted', 'working', 'input_required', 'auth_required') LIMIT +?)`,
  )
  const countShare = prepareQuery<{ open: number }>(
    db,
    `SELECT count(*) AS open FROM (SELECT 1 FROM tasks INDEXED BY tasks_open_shares WHERE owner = ? AND share = ? AND state IN ('submitted', 'working', 'input_required', 'auth_required') LIMIT +?)`,
  )
  const count = prepareQuery(
    db,
    'INSERT INTO task_bytes (owner, bytes, tasks) VALUES (?, 0, 1) ON CONFLICT (owner) DO UPDATE SET tasks = task_bytes.tasks + 1',
  )
  const setState = prepareQuery(db, 'UPDATE tasks SET state = ?, updated_at = ? WHERE id = ?')
  const remove = prepareQuery<{ owner: string }>(db, 'DELETE FROM tasks WHERE id = ? RETURNING owner')
  const uncount = prepareQuery(db, 'UPDATE task_bytes SET tasks = tasks - 1 WHERE owner = ?')
  const endCount = prepareQuery(db, endTaskTotal)
  const finish = prepareQuery<TaskRow>(
    db,
    `UPDATE tasks SET updated_at = ?2, response_seq = coalesce(?3, response_seq), state = CASE
       WHEN EXISTS (SELECT 1 FROM turns WHERE task_id = ?1 AND ended_at IS NULL) THEN 'submitted' ELSE ?4 END
     WHERE id = ?1 RETURNING ${taskColumns}`,
  )
  function isFull({ owner, most, share }: TaskIntake): boolean {
    if (share && (countShare.get(owner, share.name, share.most)?.open ?? 0) >= share.most) return true
    return most !== undefined && (countOpen.get(owner, most)?.open ?? 0) >= most
  }

  return {
    continueTask(task, agent, now) {
      const known = find.get(task.owner, task.id)
      if (!known) {
        if (isFull(task)) return 'full'
        count.run(task.owner)
        return newIdOf(insert.get(task.owner, task.id, agent, task.context, now, task.share?.name ?? null))
      }
      if (task.isNew) return 'taken'
      if (!openStates.has(known.state) && !(task.reopens && known.state !== 'canceled')) return 'ended'
      setState.run('submitted', now, known.id)
      return known.id
    },
    remove(task) {
      const removed = remove.get(task)
      if (!removed) return
      uncount.run(removed.owner)
      endCount.run(removed.owner)
    },
    setWorking: (task, now) => void setState.run('working', now, task),
    finish: (task, state, responseSeq, now) => finish.get(task, now, responseSeq ?? null, state),
  }
}
