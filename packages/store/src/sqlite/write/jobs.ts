// Declares the writes that wait for a transaction, and groups them into transactions.
import type { Batch, WriteOperation } from '../../transaction/batch.ts'
import { batchSize, maxOperations } from '../../transaction/bounds.ts'
import type { WriteTerms } from '../../transaction/writer.ts'

export interface WriteJob extends Pick<WriteTerms, 'sparesTurns'> {
  readonly operation: WriteOperation<unknown>
  /** True if the job resolves only after its transaction is on the disk. */
  readonly isDurable: boolean
  /** True if the job must run after all other jobs of its transaction. */
  readonly isLast: boolean
  readonly size: number
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

export type WriteJobOptions = WriteTerms & Partial<Pick<WriteJob, 'isDurable' | 'isLast'>>

/** A transaction that has ended, with the result of each of its jobs. */
export interface CommittedTransaction {
  readonly jobs: readonly WriteJob[]
  readonly results: readonly unknown[]
  readonly batch: Batch
}

/** Moves the jobs with `isLast` to the end. */
export function orderJobs(jobs: readonly WriteJob[]): readonly WriteJob[] {
  const lastJobs = jobs.filter(({ isLast }) => isLast)
  return lastJobs.length > 0 ? [...jobs.filter(({ isLast }) => !isLast), ...lastJobs] : jobs
}

/** Removes as many jobs from the queue as fit into one transaction, but at least one, and returns them. */
export function dequeueJobs(queue: WriteJob[]): WriteJob[] {
  let size = 0
  const end = queue.findIndex((job, index) => {
    size += job.size
    return index > 0 && (index >= maxOperations || size > batchSize)
  })
  return queue.splice(0, end < 0 ? queue.length : end)
}

export function rejectJobs(jobs: readonly WriteJob[], error: unknown): void {
  for (const job of jobs) job.reject(error)
}
