// Returns the result of a transaction to its callers, at once or when it is on disk.
import { Unavailable } from '@postern/message'
import type { WriterHooks } from '../../transaction/writer.ts'
import type { Written } from './jobs.ts'
import { rejectAll } from './jobs.ts'
import type { DurabilityPoint, Transactions } from './transactions.ts'

interface Settling {
  /** Resolves each job, at once or when the disk has the transaction. The next transaction does not wait for that. */
  settle(written: Written): void
  /** Resolves when no job waits for the disk. */
  whenSynced(): Promise<void>
}

export function createSettling({ durability }: Transactions, { onDurable, onUndone }: WriterHooks): Settling {
  let syncing = 0
  let onSynced: (() => void) | undefined
  let behindNewest: Written[] | undefined

  function tell({ jobs, results, batch }: Written): void {
    for (const [index, job] of jobs.entries()) job.resolve(results[index])
    onDurable(batch)
  }

  function loseAll({ jobs, batch }: Written, error: Error): void {
    rejectAll(jobs, toLostWrite(error))
    onUndone?.(batch, true)
  }

  function waitForDisk(written: Written, { reach }: DurabilityPoint): void {
    const behind: Written[] = []
    syncing += 1
    behindNewest = behind
    reach(error => {
      syncing -= 1
      if (behindNewest === behind) behindNewest = undefined
      if (error) loseAll(written, error)
      else tell(written)
      for (const later of behind) tell(later)
      if (syncing === 0) onSynced?.()
    })
  }

  return {
    settle(written) {
      if (durability && written.jobs.some(({ isDurable }) => isDurable)) waitForDisk(written, durability)
      // The transaction may have read rows that are not on disk yet. A turn must not be leased before its message is acknowledged.
      else if (behindNewest) behindNewest.push(written)
      else tell(written)
    },
    async whenSynced() {
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
