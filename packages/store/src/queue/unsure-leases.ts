// Makes work due again if the transaction of its lease broke off with its connection.
import type { Sql } from '../sql/sql.ts'
import type { Batch } from '../transaction/batch.ts'

export interface UnsureLease {
  readonly number: number
  readonly token: number
  readonly holder: string
  /** The end of the lease, ms. Nobody renews an unsure lease, so the end distinguishes it from a later lease of the same work. */
  readonly until: number
}

/** Members with which a poll of the queue handles unsure leases. */
export interface UnsurePoll {
  /** Makes the work of unsure leases due at once. It runs first; otherwise that work waits until its leases are over. */
  giveBack(batch: Pick<Batch, 'once'>, now: number): void
  /** Notes work that the poll leases. */
  note(taken: UnsureLease): void
}

/** Leases of transactions that broke off with their connection. They may have been written, and then no worker knows of its lease. */
export interface UnsureLeases {
  /** Runs a poll and remembers its leases if it fails. */
  watch<T>(lease: (poll: UnsurePoll) => Promise<T>): Promise<T>
  add(lease: UnsureLease): void
}

export function createUnsureLeases(
  db: Sql,
  { table, number }: { readonly table: 'turns' | 'deliveries'; readonly number: string },
): UnsureLeases {
  const giveBack = db.prepare(
    `UPDATE ${table} SET due_at = ?1 WHERE ${number} = ?2 AND lease_token = ?3 AND lease_owner = ?4 AND due_at = ?5 AND ended_at IS NULL`,
  )
  let unsure: readonly UnsureLease[] = []

  function add(lease: UnsureLease): void {
    unsure = [...unsure, lease]
  }

  function listLasting(now: number): readonly UnsureLease[] {
    unsure = unsure.filter(({ until }) => until > now)
    return unsure
  }

  return {
    async watch(lease) {
      let tried: ReadonlyMap<UnsureLease, { readonly changes: number }> = new Map()
      const taken = new Map<number, UnsureLease>()
      const poll: UnsurePoll = {
        giveBack(batch, now) {
          taken.clear()
          const left = batch.once(() => listLasting(now))
          tried = new Map(left.map(each => [each, giveBack.run(now, each.number, each.token, each.holder, each.until)]))
        },
        note: each => void taken.set(each.number, each),
      }
      try {
        const result = await lease(poll)
        // A lease that is not in the table may still appear, because a server finishes a commit whose connection is lost. Work that this poll leased
        // again is safe.
        if (unsure.length > 0) unsure = unsure.filter(each => !taken.has(each.number) && !tried.get(each)?.changes)
        return result
      } catch (error) {
        for (const each of taken.values()) add(each)
        throw error
      }
    },
    add,
  }
}
