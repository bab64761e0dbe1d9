import type { Json } from '../../format/notations.ts'
import type { NormalizedResponse, ResponseStatus } from '../../message/response.ts'
import type { Entry, StreamedAnswer } from './transcript.ts'

/**
 * The unit of work a peer may ask about later (an A2A task). `owner` is the verified principal and part of the key; tasks of owners that begin
 * with `web:` do not expire.
 */
export interface TaskKey {
  readonly owner: string
  readonly id: string
}

/** The task a message opens or continues. */
export interface TaskIntake extends TaskKey {
  readonly context: string
  /** Who watches it from now on; beyond `maxWatches` nobody is added. */
  readonly watch?: TaskWatch | undefined
  /** As many open tasks may its owner have; one more is refused. */
  readonly most?: number | undefined
  /** Where many share one owner: so many open tasks may one of them have. */
  readonly share?: { readonly name: string; readonly most: number } | undefined
  /** It is opened by this message: when there is one of its id already, this one is refused. */
  readonly isNew?: true | undefined
  /** It goes on also when it has ended, unless it is canceled. */
  readonly reopens?: true | undefined
}

/** A watcher that is notified whenever a turn of a task has ended, and when it is canceled. */
export interface TaskWatch {
  /** Unique within the task. */
  readonly id: string
  /** Shown to the operator. */
  readonly to: string
  /** The data that the channel needs to reach the watcher; opaque, and never shown: it may hold secrets. */
  readonly target: Json
}

/** The target of a delivery to a watch: what became of the task, and of which watch to read where it goes. */
export interface WatchTarget extends TaskKey {
  readonly watch: string
  readonly context: string
  readonly state: string
  /** ms */
  readonly at: number
}

/** How many may watch one task. */
export const maxWatches = 10

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
