// Declares the writer of a store, which groups writes into transactions.
import type { Batch } from './batch.ts'

/** A function that writes. It may run twice, so everything it changes is a row or goes into the batch. */
export type Operation<T> = (batch: Batch) => T

/** Writes operations in shared transactions. */
export interface Writer {
  /**
   * Runs `operation` with all other waiting operations in one transaction and resolves when that is durable.
   * @throws Unavailable if the disk or another process prevents it
   */
  write<T>(operation: Operation<T>, terms?: WriteTerms): Promise<T>
  /**
   * Writes like `write`, but without waiting for the disk, for rows that a power cut may lose without harm, such as leases. If its transaction or an
   * earlier one must be durable, it waits with them, because callers get their results in the order of the commits.
   */
  writeLightly<T>(operation: Operation<T>, terms?: WriteTerms): Promise<T>
  /**
   * Writes like `writeLightly`, as the last operation of its transaction, so that it finds work that became ready in the same transaction. It locks
   * the rows that it changes (`rowLocksOf`).
   */
  writeLast<T>(operation: Operation<T>): Promise<T>
  /** Writes all waiting operations and refuses later ones. */
  close(): Promise<void>
}

/** Calls at the end of a transaction. */
export interface WriterHooks {
  onCommitted?(batch: Batch): void
  /** Runs when a transaction was undone. `isUnsure` is true if it may have been written after all. */
  onUndone?(batch: Batch, isUnsure: boolean): void
  /** Runs when the transaction is on disk. */
  onDurable(batch: Batch): void
}

/** Facts about an operation that help to group it with others. */
export interface WriteTerms {
  /**
   * Returns the conflict keys of the operation: names of what it reads and changes. Without keys it conflicts with all others. SQLite does not call
   * it.
   */
  readonly conflictKeys?: (() => readonly string[] | undefined) | undefined
  /** The approximate number of characters that it writes, if this is large. */
  readonly size?: number
}
