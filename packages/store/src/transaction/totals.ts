// Adds up the changes of running totals in a transaction.
import type { ChannelName, StopFlag } from '@postern/message'
import type { DeliveryRecord, MessageState, RefusalCode } from '@postern/pipeline'

/** A running total of the whole store. */
export type CounterName =
  | `messages.${MessageState}`
  | `deliveries.${DeliveryRecord['state']}`
  | `stopped.${StopFlag}`
  | 'refusals'
  | `refusals.${ChannelName}.${RefusalCode}`

/** Changes of the totals of one owner's tasks. */
interface TaskTotal {
  readonly bytes: number
  readonly tasks: number
}

/** Changes of running totals, which the transaction writes at its end. */
export interface TotalChanges {
  readonly totals: Map<CounterName, number>
  /** Changes of stored bytes and of the number of tasks, by the owner of the tasks. */
  readonly taskTotals: Map<string, TaskTotal>
}

export function addToTotal({ totals }: Pick<TotalChanges, 'totals'>, name: CounterName, by = 1): void {
  totals.set(name, (totals.get(name) ?? 0) + by)
}

export function addTaskBytes(batch: TotalChanges, owner: string, by: number): void {
  addTaskTotal(batch, owner, { bytes: by, tasks: 0 })
}

export function addTask(batch: TotalChanges, owner: string): void {
  addTaskTotal(batch, owner, { bytes: 0, tasks: 1 })
}

export function addTaskTotal({ taskTotals }: TotalChanges, owner: string, { bytes, tasks }: TaskTotal): void {
  const sum = taskTotals.get(owner)
  taskTotals.set(owner, { bytes: (sum?.bytes ?? 0) + bytes, tasks: (sum?.tasks ?? 0) + tasks })
}

/** Sorts totals into the order in which all transactions write them. */
export function sortByName<Total>(totals: ReadonlyMap<string, Total>): readonly (readonly [string, Total])[] {
  return totals.size > 1 ? [...totals].sort(([one], [other]) => (one < other ? -1 : 1)) : [...totals]
}

export function moveTotal(batch: TotalChanges, from: CounterName, to: CounterName): void {
  if (from === to) return
  addToTotal(batch, from, -1)
  addToTotal(batch, to)
}

export function moveTotals(batch: TotalChanges, count: number, [from, to]: readonly [CounterName, CounterName]): void {
  addToTotal(batch, from, -count)
  addToTotal(batch, to, count)
}
