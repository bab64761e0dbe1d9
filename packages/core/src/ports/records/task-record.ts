import type { NormalizedResponse, ResponseStatus } from '../../message/response.ts'
import type { TaskKey } from './task.ts'
import type { Entry, StreamedAnswer } from './transcript.ts'

export type TaskState = 'submitted' | ResponseStatus | 'canceled'

export interface TaskRecord extends TaskKey {
  readonly agent: string
  readonly context: string
  readonly state: TaskState
  /** ms */
  readonly updatedAt: number
  /** Everything said in this task, oldest first. */
  readonly entries: readonly Entry[]
  /** The last answer, whole. */
  readonly response?: NormalizedResponse | undefined
  /** The answers before it, oldest first. */
  readonly earlier: readonly NormalizedResponse[]
  /** What was heard of answers until the task was canceled. */
  readonly heard: readonly StreamedAnswer[]
}

/** A task as the notice of a turn's end has it. Absent `entries`: they would have to be read. */
export interface SettledTask extends Omit<TaskRecord, 'entries'> {
  readonly entries?: readonly Entry[] | undefined
}

export interface TaskFilter {
  readonly owner: string
  readonly agent?: string | undefined
  readonly context?: string | undefined
  readonly state?: TaskState | undefined
  /** Only tasks whose state changed at or after this time, ms. */
  readonly updatedSince?: number | undefined
  readonly limit: number
  /** Continue after this place (newest first). */
  readonly after?: { readonly updatedAt: number; readonly id: string } | undefined
}

/**
 * The tasks to remove: those unchanged since an instant (ms); or all but an owner's newest ones; or an owner's oldest
 * ones, until their words with attachments fit so many bytes.
 */
export type TaskExpiry = (
  | { readonly before: number }
  | { readonly owner: string; readonly most: number }
  | { readonly owner: string; readonly bytes: number }
) & {
  readonly limit: number
}
