// Collects everything that a transaction produces besides its rows.
import type { Operation, OperationOrValue } from '../sql/operation.ts'
import { endedWith } from '../sql/operation.ts'
import type { FirstMessage } from './first-message.ts'
import type { TransactionNotices } from './notices.ts'
import { noteChange } from './notices.ts'
import type { TotalChanges } from './totals.ts'
import { addTaskTotal, addToTotal } from './totals.ts'
import type { UnwrittenTurns } from './unwritten-turns.ts'

/** Everything that a transaction produces besides its rows, such as totals to write before its end and notices to send after it. */
export interface Batch extends TotalChanges, TransactionNotices {
  /**
   * The messages that got a turn, by number, with their columns if these are in memory. All operations of a transaction share them, so that a lease
   * finds messages that the same transaction has admitted.
   */
  readonly firstMessages: Map<number, FirstMessage | undefined>
  /** The turns that have no row yet. All operations of a transaction share them. */
  readonly unwrittenTurns: UnwrittenTurns
  /** The callbacks for the end of the transaction, with any result. They release the slots that were reserved for new work. */
  readonly atEnd: (() => void)[]
  /** The callbacks for a transaction that was undone. */
  readonly ifUndone: (() => void)[]
  /** The callbacks for a transaction of which it is unknown whether it was written. */
  readonly ifUnsure: (() => void)[]
  /** The callbacks for a durable transaction. They begin work that was inserted with its lease. */
  readonly begins: (() => void)[]
  /** The turns that begin within the transaction. */
  readonly continuations: Continuation[]
  /** True if work may be inserted with its lease. */
  readonly leasesNew: boolean
  /** True if turns may begin within the transaction. */
  readonly continuesTurns: boolean
  /** The digests of files to which no row refers when the transaction is durable. */
  readonly droppedFiles: string[]
  /** True if other operations run at the same time, in this process or at other gateways. Rows that the operation has read may then change before it writes. */
  readonly hasCompany: boolean
  /**
   * Locks a name against other operations, in this process and at other gateways. Call it before the first query. An operation reserves only one name,
   * so that there is no deadlock. If a deadlock occurs, the transaction is undone, and each operation runs in its own transaction.
   */
  reserve(name: string): Operation<void>
  /** Runs the operation again in its own transaction. Call it before the operation changes anything. */
  standAlone(): void
  /**
   * The conditions that must be true at the end of the transaction, even if other gateways have written in the meantime. Each condition is checked under
   * the lock of its name. An engine with one writer does not check them.
   */
  readonly checks: Map<string, () => void>
}

/** A function that writes. It may run again in another transaction, so it changes only rows and the batch. */
export type WriteOperation<T> = (batch: Batch) => OperationOrValue<T>

/** A turn that begins before the transaction of its message ends. If the agent answers at once, the transaction also contains the answer. */
interface Continuation {
  /** Begins the turn within the transaction. */
  begin(batch: Batch): void
  /** Begins the turn when the transaction is durable, as if it had no continuation. */
  beginLater(batch: Batch): void
  /** Takes the operation that stores the answer, if there is an answer by now. */
  takeAnswer(): WriteOperation<void> | undefined
}

/** The members of a batch that concern other operations of the same transaction or of other gateways. */
type Company = Pick<Batch, 'hasCompany' | 'leasesNew' | 'continuesTurns' | 'reserve' | 'standAlone'>

const nobody: Company = {
  ...{ hasCompany: false, leasesNew: true, continuesTurns: true },
  ...{ reserve: () => endedWith(undefined), standAlone() {} },
}

/** The company of an operation that runs in its own transaction after its first transaction was undone. No turn begins within the new transaction. */
export const noNewTurns: Company = { ...nobody, continuesTurns: false }

/** The members of a batch that all operations of a transaction share. */
type SharedMembers = Pick<Batch, 'firstMessages' | 'unwrittenTurns' | 'atEnd' | 'ifUndone'>

function openSharedMembers(): SharedMembers {
  return { firstMessages: new Map(), unwrittenTurns: new Map(), atEnd: [], ifUndone: [] }
}

export function createBatch(
  company = nobody,
  { firstMessages, unwrittenTurns, atEnd, ifUndone }: SharedMembers = openSharedMembers(),
): Batch {
  return {
    ...{ totals: new Map(), taskTotals: new Map(), droppedFiles: [], checks: new Map() },
    ...{ notices: [], readyWork: new Set(), changes: new Map(), begins: [], ifUnsure: [], continuations: [] },
    ...{ firstMessages, unwrittenTurns, atEnd, ifUndone },
    ...company,
  }
}

/** Begins the work of a transaction that is durable. */
export function beginWork({ begins, atEnd }: Batch): void {
  for (const callback of [...begins, ...atEnd]) callback()
}

/** Undoes the effects of a transaction besides its rows. `isUnsure` is true if the transaction may have been written after all. */
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
