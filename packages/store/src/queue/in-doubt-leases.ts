// Makes leased work due again if the connection was lost while the lease was being committed.
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'

export interface InDoubtLease {
  readonly workNumber: number
  readonly token: number
  readonly holder: string
  /** The end of the lease, ms. A lease in doubt is never renewed, so its end distinguishes it from a later lease of the same work. */
  readonly expiresAt: number
}

/** The steps with which a poll of the queue handles leases in doubt. */
export interface InDoubtPoll {
  /** Makes the work of leases in doubt due at once, at the beginning of the poll. Otherwise that work would wait until its leases are over. */
  makeWorkDue(now: number): Operation<void>
  /** Records a new lease of the poll. */
  recordLease(lease: InDoubtLease): void
}

/** The leases of transactions whose connection was lost. Such a lease may be stored although no worker has the work. */
export interface InDoubtLeases {
  /** Runs a poll. If the poll fails, its leases are in doubt. */
  track<T>(leaseWork: (poll: InDoubtPoll) => Promise<T>): Promise<T>
  add(lease: InDoubtLease): void
}

export function createInDoubtLeases(
  db: Sql,
  { table, idColumn }: { readonly table: 'turns' | 'deliveries'; readonly idColumn: string },
): InDoubtLeases {
  const makeDue = db.prepare(
    `UPDATE ${table} SET due_at = ?1 WHERE ${idColumn} = ?2 AND lease_token = ?3 AND lease_owner = ?4 AND due_at = ?5 AND ended_at IS NULL`,
  )
  let leasesInDoubt: readonly InDoubtLease[] = []

  function add(lease: InDoubtLease): void {
    leasesInDoubt = [...leasesInDoubt, lease]
  }

  function listUnexpired(now: number): readonly InDoubtLease[] {
    leasesInDoubt = leasesInDoubt.filter(({ expiresAt }) => expiresAt > now)
    return leasesInDoubt
  }

  return {
    async track(leaseWork) {
      /** The leases in doubt whose work this poll has made due. */
      const dueLeases = new Set<InDoubtLease>()
      const newLeases = new Map<number, InDoubtLease>()
      const poll: InDoubtPoll = {
        *makeWorkDue(now) {
          newLeases.clear()
          dueLeases.clear()
          for (const inDoubtLease of listUnexpired(now)) {
            const { workNumber, token, holder, expiresAt } = inDoubtLease
            const changes = yield* makeDue.change(now, workNumber, token, holder, expiresAt)
            if (changes > 0) dueLeases.add(inDoubtLease)
          }
        },
        recordLease: inDoubtLease => void newLeases.set(inDoubtLease.workNumber, inDoubtLease),
      }
      try {
        const result = await leaseWork(poll)
        // A server may finish a commit after the connection was lost, so a lease that is not in the table may still appear and stays in doubt.
        // A lease is settled if this poll has leased its work again.
        if (leasesInDoubt.length > 0)
          leasesInDoubt = leasesInDoubt.filter(
            inDoubtLease => !newLeases.has(inDoubtLease.workNumber) && !dueLeases.has(inDoubtLease),
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
