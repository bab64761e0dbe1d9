// Describes tasks, whose state peers can query after their call (A2A).
import type { Json, NormalizedResponse, ResponseStatus } from '@postern/message'
import type { Entry, StreamedAnswer } from './transcript.ts'

/**
 * The key of a unit of work that a peer may query later (an A2A task). `owner` is the verified principal and part of the key; tasks of owners that
 * begin with `web:` do not expire.
 */
export interface TaskKey {
  readonly owner: string
  readonly id: string
}

/** The task that a message opens or continues. */
export interface TaskIntake extends TaskKey {
  readonly context: string
  /** The watch that begins now. It is ignored if the task already has `maxWatches`. */
  readonly watch?: TaskWatch | undefined
  /** The maximum number of open tasks of its owner. One more is refused. */
  readonly maxOpenTasks?: number | undefined
  /** The maximum number of open tasks of one of the callers who share an owner. */
  readonly share?: { readonly name: string; readonly maxOpenTasks: number } | undefined
  /** True if this message opens the task; it is refused if a task with this id exists already. */
  readonly isNew?: true | undefined
  /** True if the message continues the task even if the task has ended, unless it was canceled. */
  readonly reopens?: true | undefined
}

/** A watcher that is notified whenever a turn of a task has ended, and when it is canceled. */
export interface TaskWatch {
  /** Unique within the task. */
  readonly id: string
  /** The destination that the operator sees. */
  readonly to: string
  /** The data that the channel needs to reach the watcher; opaque, and never shown: it may hold secrets. */
  readonly target: Json
}

/** The target of a delivery to a watch: the state of the task, and the watch whose own target names the destination. */
export interface WatchTarget extends TaskKey {
  readonly watch: string
  readonly context: string
  readonly state: string
  /** ms */
  readonly at: number
}

/** The maximum number of watches on one task. */
export const maxWatches = 10

export type TaskState = 'submitted' | ResponseStatus | 'canceled'

export interface TaskRecord extends TaskKey {
  readonly agent: string
  readonly context: string
  readonly state: TaskState
  /** ms */
  readonly updatedAt: number
  /** All entries of this task, oldest first. */
  readonly entries: readonly Entry[]
  /** The last answer as a whole. */
  readonly response?: NormalizedResponse | undefined
  /** The answers before the last one, oldest first. */
  readonly earlierResponses: readonly NormalizedResponse[]
  /** The answers that had begun when the task was canceled. */
  readonly canceledAnswers: readonly StreamedAnswer[]
}

/** A task as the notice of a turn's end contains it. `entries` is absent if they would have to be read from the database. */
export interface SettledTask extends Omit<TaskRecord, 'entries'> {
  readonly entries?: readonly Entry[] | undefined
}

export interface TaskFilter {
  readonly owner: string
  readonly agent?: string | undefined
  readonly context?: string | undefined
  readonly state?: TaskState | undefined
  /** The time since which the state of a task must have changed, in ms. */
  readonly updatedSince?: number | undefined
  readonly limit: number
  /** The position after which the page begins (newest first). */
  readonly after?: { readonly updatedAt: number; readonly id: string } | undefined
  /** `rising`: oldest first, as a caller follows what has changed since a position; default: newest first. */
  readonly order?: 'falling' | 'rising' | undefined
}

/**
 * The tasks to delete: those unchanged since an instant (ms); or all except an owner's newest ones; or an owner's oldest ones, until the messages
 * and attachments of the remaining tasks fit in `bytes`.
 */
export type TaskExpiry = (
  | { readonly unchangedSince: number }
  | { readonly owner: string; readonly maxTasks: number }
  | { readonly owner: string; readonly maxBytes: number }
) & {
  readonly limit: number
}
