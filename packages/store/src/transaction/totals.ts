// Collects the changes of running totals in a transaction.
import type { ChannelName, StopFlag } from '@postern/message'
import type { DeliveryRecord, MessageState, RefusalCode } from '@postern/pipeline'

/** A running total of the whole store. */
export type TotalName =
  | `messages.${MessageState}`
  | `deliveries.${DeliveryRecord['state']}`
  | `stopped.${StopFlag}`
  | 'refusals'
  | `refusals.${ChannelName}.${RefusalCode}`

/** The change of the totals of one owner's tasks. */
interface TaskTotalChange {
  readonly bytes: number
  readonly tasks: number
}

/** The changes of running totals, which the transaction writes at its end. */
export interface TotalChanges {
  readonly totals: Map<TotalName, number>
  /** The changes of stored bytes and of the number of tasks, by the owner of the tasks. */
  readonly taskTotals: Map<string, TaskTotalChange>
}

export function addToTotal({ totals }: Pick<TotalChanges, 'totals'>, name: TotalName, amount = 1): void {
  totals.set(name, (totals.get(name) ?? 0) + amount)
}

export function addTaskBytes(batch: TotalChanges, owner: string, bytes: number): void {
  addTaskTotal(batch, owner, { bytes, tasks: 0 })
}

export function addTask(batch: TotalChanges, owner: string): void {
  addTaskTotal(batch, owner, { bytes: 0, tasks: 1 })
}

export function addTaskTotal({ taskTotals }: TotalChanges, owner: string, { bytes, tasks }: TaskTotalChange): void {
  const sum = taskTotals.get(owner)
  taskTotals.set(owner, { bytes: (sum?.bytes ?? 0) + bytes, tasks: (sum?.tasks ?? 0) + tasks })
}

/** Sorts totals into the order in which all transactions write them. */
export function sortByName<Total>(totals: ReadonlyMap<string, Total>): readonly (readonly [string, Total])[] {
  return totals.size > 1 ? [...totals].sort(([left], [right]) => (left < right ? -1 : 1)) : [...totals]
}

export function moveTotal(batch: TotalChanges, from: TotalName, to: TotalName): void {
  if (from === to) return
  addToTotal(batch, from, -1)
  addToTotal(batch, to)
}

export function moveTotals(batch: TotalChanges, count: number, [from, to]: readonly [TotalName, TotalName]): void {
  addToTotal(batch, from, -count)
  addToTotal(batch, to, count)
}
