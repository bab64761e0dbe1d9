// Gathers the notices and changes of a transaction.
import type { ChangeKind, SettledTask, TaskRecord, WorkKind } from '@postern/pipeline'

export interface Notice {
  readonly topic: string
  readonly payload: unknown
}

/** A notice and the task of a turn that has ended. The task can be read when the transaction is over. */
interface PendingNotice extends Notice {
  readonly readTask?: (() => TaskRecord | undefined) | undefined
}

/** Reads the task of a turn that has ended in the form that the notice has. */
type SelectTask = (readTask: () => TaskRecord | undefined) => SettledTask | undefined

/** Reads the whole task, for listeners in this process. */
export const readWholeTask: SelectTask = readTask => readTask()

/** Notices of a transaction, which its writer sends when the transaction is durable. */
export interface TransactionNotices {
  readonly notices: PendingNotice[]
  /** Kinds of work that became ready. */
  readonly readyWork: Set<WorkKind>
  /** Records that changed for operators: numbers by kind. */
  readonly changes: Map<ChangeKind, Set<number>>
}

/** Notes that a record changed for operators. */
export function noteChange({ changes }: Pick<TransactionNotices, 'changes'>, kind: ChangeKind, number: number): void {
  const numbers = changes.get(kind)
  if (numbers) numbers.add(number)
  else changes.set(kind, new Set([number]))
}

/**
 * Lists the notices of a durable transaction: its own, one for ready work and one for changes. Without `tellTask`, they carry no task, and
 * listeners read it themselves.
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
