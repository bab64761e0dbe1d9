// Gathers everything that a transaction produces beside its rows.
import type { FirstMessage } from './first-message.ts'
import type { TransactionNotices } from './notices.ts'
import { noteChange } from './notices.ts'
import type { TotalChanges } from './totals.ts'
import { addTaskTotal, addToTotal } from './totals.ts'

/** Everything that a transaction produces beside its rows: totals to write before it ends, and notices to send after it. */
export interface Batch extends TotalChanges, TransactionNotices {
  /**
   * Messages that have got a turn, by number, with their rows if these are in memory. All operations of a transaction share them, so that a lease
   * finds messages that the same transaction admitted.
   */
  readonly firstMessages: Map<number, FirstMessage | undefined>
  /** Calls for the end of the transaction, whatever its result. They release slots that were kept for new work. */
  readonly atEnd: (() => void)[]
  /** Calls for a transaction that was undone. */
  readonly ifUndone: (() => void)[]
  /** Calls for a transaction that may or may not have been written. */
  readonly ifUnsure: (() => void)[]
  /** Calls for a durable transaction, which begin work that was inserted with its lease. */
  readonly begins: (() => void)[]
  /** Turns that begin within the transaction. */
  readonly continuations: Continuation[]
  /** True if work may be inserted with its lease. */
  readonly leasesNew: boolean
  /** True if turns may begin within the transaction. */
  readonly continuesTurns: boolean
  /** Digests of files that no row refers to when the transaction is durable. */
  readonly droppedFiles: string[]
  /** True if other operations run at the same time, here or at other gateways. Rows that the operation has read may change before it writes. */
  readonly hasCompany: boolean
  /**
   * Keeps other operations, here and at other gateways, away from the thing with this name. Call it before the first reading. An operation reserves
   * only one name, so that no two wait for each other. If two do, the transaction is undone and each operation runs by itself.
   */
  reserve(name: string): void
  /** Runs the operation again without company. Call it before the operation changes anything. */
  standAlone(): void
  /**
   * Runs a part of the operation, which does not run again once it has ended. An operation that handles many rows handles each in a part, because
   * otherwise its cost grows with the square of their number (`runParts`).
   */
  runPart<T>(part: (batch: Batch) => T): T
  /** Makes a decision that depends on more than rows. The decision stays the same if the operation is run again from its start. */
  once<T>(decide: () => T): T
  /**
   * Conditions that must hold when the transaction ends, whatever other gateways have written in the meantime. Each is checked while the lock of its
   * name is held. An engine with one writer does not check them.
   */
  readonly checks: Map<string, () => void>
}

/** A turn that begins before the transaction of its message ends. If its agent answers at once, the transaction has the answer, too. */
interface Continuation {
  /** Begins the turn within the transaction. */
  begin(batch: Batch): void
  /** Begins the turn when the transaction is durable, as if it had no continuation. */
  beginLater(batch: Batch): void
  /** Takes the answer, if there is one by now. The operation stores it; an engine that runs operations again may run it several times. */
  takeAnswer(): ((batch: Batch) => void) | undefined
}

/** Members of a batch that tell an operation about others beside it. */
interface Company
  extends Pick<Batch, 'hasCompany' | 'leasesNew' | 'continuesTurns' | 'reserve' | 'standAlone' | 'once'> {
  /** Runs a part of the operation to its end only once. */
  runOnce<T>(part: () => T): T
}

const nobody: Company = {
  ...{ hasCompany: false, leasesNew: true, continuesTurns: true },
  ...{ reserve() {}, standAlone() {}, once: decide => decide(), runOnce: part => part() },
}

/** The company of an operation that runs by itself after its transaction was undone. No turn begins within it. */
export const nobodyAgain: Company = { ...nobody, continuesTurns: false }

/** Members of a batch that all operations of a transaction share. */
type Shared = Pick<Batch, 'firstMessages' | 'atEnd' | 'ifUndone'>

export function createBatch(
  company = nobody,
  { firstMessages, atEnd, ifUndone }: Shared = { firstMessages: new Map(), atEnd: [], ifUndone: [] },
): Batch {
  const batch: Batch = {
    ...{ totals: new Map(), taskTotals: new Map(), droppedFiles: [], checks: new Map() },
    ...{ notices: [], readyWork: new Set(), changes: new Map(), begins: [], ifUnsure: [], continuations: [] },
    ...{ firstMessages, atEnd, ifUndone },
    ...company,
    runPart(run) {
      const { value, part } = company.runOnce(() => {
        const part = createBatch(company, batch)
        return { value: run(part), part }
      })
      mergeBatch(batch, part)
      return value
    },
  }
  return batch
}

/** The maximum number of parts that an operation passes over when it runs again. */
const partsAtOnce = 32

/**
 * Runs an operation on many rows in parts, one for each row, in order. The parts are nested in groups, so that an engine which runs operations again
 * does not pass over every row that is done.
 */
export function runParts<Row, T>(batch: Batch, rows: readonly Row[], run: (batch: Batch, row: Row) => T): readonly T[] {
  if (rows.length <= partsAtOnce) return rows.map(row => batch.runPart(part => run(part, row)))
  const groupSize = Math.ceil(rows.length / partsAtOnce)
  const groups = Array.from({ length: Math.ceil(rows.length / groupSize) }, (_, at) =>
    rows.slice(at * groupSize, (at + 1) * groupSize),
  )
  return groups.flatMap(group => batch.runPart(part => runParts(part, group, run)))
}

/** Begins the work of a transaction that is durable. */
export function beginWork({ begins, atEnd }: Batch): void {
  for (const callback of [...begins, ...atEnd]) callback()
}

/** Undoes what a transaction did beside its rows. `isUnsure` is true if it may have been written after all. */
export function undoWork({ ifUndone, ifUnsure, atEnd }: Batch, isUnsure: boolean): void {
  for (const callback of [...ifUndone, ...(isUnsure ? ifUnsure : []), ...atEnd]) callback()
}

/** Adds the batch of one operation to the batch of its transaction. */
export function mergeBatch(batch: Batch, operationBatch: Batch): void {
  for (const [name, check] of operationBatch.checks) batch.checks.set(name, check)
  for (const [name, amount] of operationBatch.totals) addToTotal(batch, name, amount)
  for (const [owner, total] of operationBatch.taskTotals) addTaskTotal(batch, owner, total)
  for (const kind of operationBatch.readyWork) batch.readyWork.add(kind)
  for (const [kind, numbers] of operationBatch.changes) for (const number of numbers) noteChange(batch, kind, number)
  batch.notices.push(...operationBatch.notices)
  batch.droppedFiles.push(...operationBatch.droppedFiles)
  batch.begins.push(...operationBatch.begins)
  batch.continuations.push(...operationBatch.continuations)
  batch.ifUnsure.push(...operationBatch.ifUnsure)
}
