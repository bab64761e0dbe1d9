// Returns the results of a transaction to its callers, at once or when the transaction is on disk.
import { Unavailable } from '@postern/message'
import type { WriterHooks } from '../../transaction/writer.ts'
import type { CommittedTransaction } from './jobs.ts'
import { rejectJobs } from './jobs.ts'
import type { DurabilityPoint, Transactions } from './transactions.ts'

interface JobSettlement {
  /** Resolves the jobs of a transaction, at once or when the transaction is on disk. The next transaction does not wait for the disk. */
  settle(committed: CommittedTransaction): void
  /** Resolves when no transaction waits for the disk. The writer calls it only once, at its end. */
  waitUntilSynced(): Promise<void>
}

export function createJobSettlement({ durability }: Transactions, { onDurable, onUndone }: WriterHooks): JobSettlement {
  let pendingSyncs = 0
  let onSynced: (() => void) | undefined
  let waitingForNewestSync: CommittedTransaction[] | undefined

  function resolveJobs({ jobs, results, batch }: CommittedTransaction): void {
    for (const [index, job] of jobs.entries()) job.resolve(results[index])
    onDurable(batch)
  }

  function rejectLost({ jobs, batch }: CommittedTransaction, error: Error): void {
    rejectJobs(jobs, createLostWriteError(error))
    onUndone?.(batch, true)
  }

  function waitForDisk(transaction: CommittedTransaction, { whenReached }: DurabilityPoint): void {
    const laterTransactions: CommittedTransaction[] = []
    pendingSyncs += 1
    waitingForNewestSync = laterTransactions
    whenReached(error => {
      pendingSyncs -= 1
      if (waitingForNewestSync === laterTransactions) waitingForNewestSync = undefined
      if (error) rejectLost(transaction, error)
      else resolveJobs(transaction)
      for (const laterTransaction of laterTransactions) resolveJobs(laterTransaction)
      if (pendingSyncs === 0) onSynced?.()
    })
  }

  return {
    settle(transaction) {
      if (durability && transaction.jobs.some(({ isDurable }) => isDurable)) waitForDisk(transaction, durability)
      // The transaction may have read rows that are not on disk yet. A turn must not be leased before its message is acknowledged.
      else if (waitingForNewestSync) waitingForNewestSync.push(transaction)
      else resolveJobs(transaction)
    },
    async waitUntilSynced() {
      if (pendingSyncs === 0) return
      await new Promise<void>(resolve => {
        onSynced = resolve
      })
    },
  }
}

function createLostWriteError(cause: unknown): Unavailable {
  return new Unavailable('Cannot store: the disk did not take what was written', { cause, retryAfter: 60 })
}
