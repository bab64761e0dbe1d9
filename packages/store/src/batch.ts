import type { DeliveryRecord, MessageState, StopFlag } from '@postern/core'

export type CounterName =
  | `messages.${MessageState}`
  | `deliveries.${DeliveryRecord['state']}`
  | `stopped.${StopFlag}`
  | 'refusals'

export interface Notice {
  readonly topic: string
  readonly payload: unknown
}

/** What one transaction leaves behind beside its rows: totals to book before it ends, notices to give after it. */
export interface Batch {
  readonly totals: Map<CounterName, number>
  /** What came to the tasks of an owner and went from them, bytes. */
  readonly taskBytes: Map<string, number>
  readonly notices: Notice[]
  hasReadyWork: boolean
  /** Digests whose files nothing refers to once it is durable. */
  readonly droppedFiles: string[]
}

export function createBatch(): Batch {
  return { totals: new Map(), taskBytes: new Map(), notices: [], hasReadyWork: false, droppedFiles: [] }
}

export function addToTotal({ totals }: Batch, name: CounterName, by = 1): void {
  totals.set(name, (totals.get(name) ?? 0) + by)
}

export function addTaskBytes({ taskBytes }: Batch, owner: string, by: number): void {
  taskBytes.set(owner, (taskBytes.get(owner) ?? 0) + by)
}

export function moveTotal(batch: Batch, from: CounterName, to: CounterName): void {
  if (from === to) return
  addToTotal(batch, from, -1)
  addToTotal(batch, to)
}

export function moveTotals(batch: Batch, count: number, [from, to]: readonly [CounterName, CounterName]): void {
  addToTotal(batch, from, -count)
  addToTotal(batch, to, count)
}
