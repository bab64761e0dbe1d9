// Collects the notices and changes of a transaction.
import type { ChangeKind, SettledTask, TaskRecord, WorkKind } from '@postern/pipeline'

export interface Notice {
  readonly topic: string
  readonly payload: unknown
}

/** A notice, with the task if it announces the end of a turn. The task can be read after the transaction. */
interface PendingNotice extends Notice {
  readonly readTask?: (() => TaskRecord | undefined) | undefined
}

/** Reads a task in the form in which a notice contains it. */
type SelectTask = (readTask: () => TaskRecord | undefined) => SettledTask | undefined

/** Reads the whole task for listeners in this process. */
export const readWholeTask: SelectTask = readTask => readTask()

/** The notices of a transaction, which its writer sends when the transaction is durable. */
export interface TransactionNotices {
  readonly notices: PendingNotice[]
  /** The kinds of work that became ready. */
  readonly readyWork: Set<WorkKind>
  /** The numbers of the changed records by kind, for operators. */
  readonly changes: Map<ChangeKind, Set<number>>
}

/** Records that a record has changed, for operators. */
export function noteChange({ changes }: Pick<TransactionNotices, 'changes'>, kind: ChangeKind, number: number): void {
  const numbers = changes.get(kind)
  if (numbers) numbers.add(number)
  else changes.set(kind, new Set([number]))
}

/**
 * Lists the notices of a durable transaction, with a notice for ready work and a notice for changes. Without `selectTask`, the notices contain no task,
 * and listeners read the task themselves.
 */
export function listNotices(
  { notices, readyWork, changes }: TransactionNotices,
  selectTask?: SelectTask,
): readonly Notice[] {
  const changePayload = Object.fromEntries([...changes].map(([kind, numbers]) => [kind, [...numbers]]))
  return [
    ...notices.map(notice => toNotice(notice, selectTask)),
    ...(readyWork.size > 0 ? [{ topic: 'work', payload: [...readyWork] }] : []),
    ...(changes.size > 0 ? [{ topic: 'changes', payload: changePayload }] : []),
  ]
}

function toNotice({ topic, payload, readTask }: PendingNotice, selectTask: SelectTask | undefined): Notice {
  const task = readTask && selectTask?.(readTask)
  return task ? { topic, payload: { ...(payload as object), task } } : { topic, payload }
}
