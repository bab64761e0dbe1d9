// Makes leased work due again if the connection was lost while its lease was committed.
import type { Sql } from '../sql/sql.ts'
import type { Batch } from '../transaction/batch.ts'

export interface InDoubtLease {
  readonly number: number
  readonly token: number
  readonly holder: string
  /** The end of the lease, ms. Nobody renews a lease in doubt, so the end distinguishes it from a later lease of the same work. */
  readonly expiresAt: number
}

/** The steps by which a poll of the queue handles leases in doubt. */
export interface InDoubtPoll {
  /** Makes the work of leases in doubt due at once. It runs first; otherwise that work waits until its leases are over. */
  release(batch: Pick<Batch, 'once'>, now: number): void
  /** Records a lease that the poll takes. */
  recordLease(lease: InDoubtLease): void
}

/** The leases of transactions whose connection was lost. Such a lease may be stored although no worker knows of it. */
export interface InDoubtLeases {
  /** Runs a poll and remembers its leases if it fails. */
  track<T>(lease: (poll: InDoubtPoll) => Promise<T>): Promise<T>
  add(lease: InDoubtLease): void
}

export function createInDoubtLeases(
  db: Sql,
  { table, idColumn }: { readonly table: 'turns' | 'deliveries'; readonly idColumn: string },
): InDoubtLeases {
  const makeDue = db.prepare(
    `UPDATE ${table} SET due_at = ?1 WHERE ${idColumn} = ?2 AND lease_token = ?3 AND lease_owner = ?4 AND due_at = ?5 AND ended_at IS NULL`,
  )
  let inDoubt: readonly InDoubtLease[] = []

  function add(lease: InDoubtLease): void {
    inDoubt = [...inDoubt, lease]
  }

  function listUnexpired(now: number): readonly InDoubtLease[] {
    inDoubt = inDoubt.filter(({ expiresAt }) => expiresAt > now)
    return inDoubt
  }

  return {
    async track(lease) {
      let releaseResults: ReadonlyMap<InDoubtLease, { readonly changes: number }> = new Map()
      const newLeases = new Map<number, InDoubtLease>()
      const poll: InDoubtPoll = {
        release(batch, now) {
          newLeases.clear()
          const unexpired = batch.once(() => listUnexpired(now))
          releaseResults = new Map(
            unexpired.map(inDoubtLease => [
              inDoubtLease,
              makeDue.run(now, inDoubtLease.number, inDoubtLease.token, inDoubtLease.holder, inDoubtLease.expiresAt),
            ]),
          )
        },
        recordLease: inDoubtLease => void newLeases.set(inDoubtLease.number, inDoubtLease),
      }
      try {
        const result = await lease(poll)
        // A lease that is not in the table may still appear, because a server finishes a commit whose connection is lost. Work that this poll leased
        // again is safe.
        if (inDoubt.length > 0)
          inDoubt = inDoubt.filter(
            inDoubtLease => !newLeases.has(inDoubtLease.number) && !releaseResults.get(inDoubtLease)?.changes,
          )
        return result
      } catch (error) {
        for (const inDoubtLease of newLeases.values()) add(inDoubtLease)
        throw error
      }
    },
    add,
  }
}
