import type { Batch, Sql } from './database.ts'

export interface UnsureLease {
  readonly number: number
  readonly token: number
  readonly holder: string
  /** When it is over by itself, ms. Nobody renews it, so this tells it from a lease of the same work that somebody knows of. */
  readonly until: number
}

/** What a look does with unsure leases, each time it is run. */
export interface UnsureLook {
  /** First: makes that work due at once. Otherwise it waits until its lease is over. */
  giveBack(batch: Pick<Batch, 'once'>, now: number): void
  /** Work was leased. */
  note(taken: UnsureLease): void
}

/** Leases whose transaction broke off with the connection: it may have been written, and then nobody knows that the work is theirs. */
export interface UnsureLeases {
  /** Runs what leases work, and keeps in mind what it notes, if it fails. */
  watch<T>(lease: (look: UnsureLook) => Promise<T>): Promise<T>
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
      const look: UnsureLook = {
        giveBack(batch, now) {
          taken.clear()
          const left = batch.once(() => listLasting(now))
          tried = new Map(left.map(each => [each, giveBack.run(now, each.number, each.token, each.holder, each.until)]))
        },
        note: each => void taken.set(each.number, each),
      }
      try {
        const result = await lease(look)
        // One that was not there may still come: a server goes on with a commit though the connection is gone. What is leased anew may have its token.
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
