import type { Sql } from './database.ts'

export interface UnsureLease {
  readonly number: number
  readonly token: number
  readonly holder: string
}

/** Leases whose transaction broke off with the connection: it may have been written, and then nobody knows that the work is theirs. */
export interface UnsureLeases {
  /** Runs what leases work, and keeps in mind what it notes, if it fails. */
  watch<T>(lease: (note: (taken: UnsureLease) => void) => Promise<T>): Promise<T>
  add(leases: readonly UnsureLease[]): void
  /** Within a later transaction: makes that work due at once. Otherwise it waits until its lease is over. */
  giveBack(now: number): void
}

export function createUnsureLeases(
  db: Sql,
  { table, number }: { readonly table: 'turns' | 'deliveries'; readonly number: string },
): UnsureLeases {
  const giveBack = db.prepare(
    `UPDATE ${table} SET due_at = ?1 WHERE ${number} = ?2 AND lease_token = ?3 AND lease_owner = ?4 AND due_at > ?1`,
  )
  let unsure: readonly UnsureLease[] = []

  function add(leases: readonly UnsureLease[]): void {
    unsure = [...unsure, ...leases]
  }

  return {
    async watch(lease) {
      const before = unsure
      const taken = new Map<number, UnsureLease>()
      try {
        const result = await lease(each => taken.set(each.number, each))
        if (before.length > 0) unsure = unsure.filter(each => !before.includes(each))
        return result
      } catch (error) {
        add([...taken.values()])
        throw error
      }
    },
    add,
    giveBack(now) {
      for (const each of unsure) giveBack.run(now, each.number, each.token, each.holder)
    },
  }
}
