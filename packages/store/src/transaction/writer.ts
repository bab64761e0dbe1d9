// Declares the writer of a store, which groups writes into transactions.
import type { Batch, WriteOperation } from './batch.ts'

/** Writes operations in shared transactions. */
export interface Writer {
  /**
   * Runs `operation` with other waiting operations in one transaction, and resolves when the transaction is durable.
   * @throws Unavailable if the disk or another process prevents it
   */
  write<T>(operation: WriteOperation<T>, terms?: WriteTerms): Promise<T>
  /**
   * Writes like `write`, but does not wait for the disk, for rows whose loss after a power failure does no harm, such as leases. If its transaction or an
   * earlier one must be durable, it waits for the disk, too, because callers get their results in the order of the commits.
   */
  writeLightly<T>(operation: WriteOperation<T>, terms?: WriteTerms): Promise<T>
  /**
   * Writes like `writeLightly`, as the last operation of its transaction, so that it finds work that became ready in the same transaction. The operation
   * must lock the rows that it changes (`rowLocks`).
   */
  writeLast<T>(operation: WriteOperation<T>): Promise<T>
  /** Writes all waiting operations and refuses later ones. */
  close(): Promise<void>
}

/** The callbacks at the end of a transaction. */
export interface WriterHooks {
  onCommitted?(batch: Batch): void
  /** Runs when a transaction was undone. `isUnsure` is true if the transaction may have been written after all. */
  onUndone?(batch: Batch, isUnsure: boolean): void
  /** Runs when the transaction is on disk. */
  onDurable(batch: Batch): void
}

/** The properties of an operation that help to group it with other operations. */
export interface WriteTerms {
  /**
   * Returns the conflict keys of the operation, which are names of the things that it reads and changes. Without keys, it conflicts with all other
   * operations. The writer of SQLite does not call this member.
   */
  readonly conflictKeys?: (() => readonly string[] | undefined) | undefined
  /**
   * True if the operation neither reads nor changes the turns of other messages, or calls `writeTurns` before it does. Before other operations the
   * writer calls it.
   */
  readonly sparesTurns?: boolean | undefined
  /** The approximate number of characters that the operation writes, if this is large. */
  readonly size?: number
}
