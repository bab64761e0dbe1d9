// Returns the result of a transaction to its callers, at once or when it is on disk.
import { Unavailable } from '@postern/message'
import type { WriterHooks } from '../../transaction/writer.ts'
import type { CommittedTransaction } from './jobs.ts'
import { rejectAll } from './jobs.ts'
import type { DurabilityPoint, Transactions } from './transactions.ts'

interface JobSettlement {
  /** Resolves each job, at once or when the disk has the transaction. The next transaction does not wait for that. */
  settle(committed: CommittedTransaction): void
  /** Resolves when no job waits for the disk. */
  waitUntilSynced(): Promise<void>
}

export function createJobSettlement({ durability }: Transactions, { onDurable, onUndone }: WriterHooks): JobSettlement {
  let syncing = 0
  let onSynced: (() => void) | undefined
  let behindNewestSync: CommittedTransaction[] | undefined

  function resolveJobs({ jobs, results, batch }: CommittedTransaction): void {
    for (const [index, job] of jobs.entries()) job.resolve(results[index])
    onDurable(batch)
  }

  function rejectLost({ jobs, batch }: CommittedTransaction, error: Error): void {
    rejectAll(jobs, toLostWrite(error))
    onUndone?.(batch, true)
  }

  function waitForDisk(transaction: CommittedTransaction, { reach }: DurabilityPoint): void {
    const laterTransactions: CommittedTransaction[] = []
    syncing += 1
    behindNewestSync = laterTransactions
    reach(error => {
      syncing -= 1
      if (behindNewestSync === laterTransactions) behindNewestSync = undefined
      if (error) rejectLost(transaction, error)
      else resolveJobs(transaction)
      for (const laterTransaction of laterTransactions) resolveJobs(laterTransaction)
      if (syncing === 0) onSynced?.()
    })
  }

  return {
    settle(transaction) {
      if (durability && transaction.jobs.some(({ isDurable }) => isDurable)) waitForDisk(transaction, durability)
      // The transaction may have read rows that are not on disk yet. A turn must not be leased before its message is acknowledged.
      else if (behindNewestSync) behindNewestSync.push(transaction)
      else resolveJobs(transaction)
    },
    async waitUntilSynced() {
      if (syncing === 0) return
      await new Promise<void>(resolve => {
        onSynced = resolve
      })
    },
  }
}

function toLostWrite(cause: unknown): Unavailable {
  return new Unavailable('Cannot store: the disk did not take what was written', { cause, retryAfter: 60 })
}
