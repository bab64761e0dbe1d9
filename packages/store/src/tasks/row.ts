import type { TaskState } from '@postern/core'

export interface TaskRow {
  readonly id: number
  readonly owner: string
  readonly native_id: string
  readonly agent: string
  readonly context: string
  readonly state: TaskState
  readonly updated_at: number
  readonly response_seq: number | null
  /** It has other answers than that one. */
  readonly has_earlier: 0 | 1
}

export const taskColumns = `tasks.id, tasks.owner, tasks.native_id, tasks.agent, tasks.context, tasks.state, tasks.updated_at, tasks.response_seq, EXISTS (SELECT 1 FROM messages e
  WHERE e.task_id = tasks.id AND e.kind = 'response' AND e.seq <> coalesce(tasks.response_seq, 0)) AS has_earlier`
