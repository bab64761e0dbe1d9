// Keeps the public keys that proved messages.
import type { ProofKey } from '@postern/message'
import { rowLocksOf } from '../sql/engine-defaults.ts'
import { formatJson } from '../sql/json-columns.ts'
import type { Sql } from '../sql/sql.ts'

/** The table of public keys that proved messages. Its members run synchronously, inside a write. */
export interface ProofKeyTable {
  /** Returns the keys that were not seen lately. Call it before the write, because a write may run twice and the memory may change in between. */
  choose(keys: readonly ProofKey[], now: number): readonly ProofKey[]
  /** Remembers keys in memory. Call it when their write is durable, because a write may be undone. */
  noteStored(keys: readonly ProofKey[], now: number): void
  /** Returns when a key was used last, as far as this is stored. */
  findUse(key: ProofKey): number | undefined
  /** Stores keys and their use. `uses` holds the result of `findUse` for each key. */
  keep(keys: readonly ProofKey[], uses: readonly (number | undefined)[], now: number): void
  find(digest: string): ProofKey | undefined
  /** Removes the keys of these principals and returns their number. */
  forgetOwners(owners: readonly string[]): number
}

/** The number of keys in the table, which drops those that were unused for longest. A sender can invent any number of actors with keys. */
const maxStoredKeys = 20_000

/** The time after which the use of a key is written again, ms. */
const useUpdateMs = 12 * 3_600_000

/** The time for which memory vouches that a key is stored, ms, and the number of keys for which it does. */
const [knownMs, maxKnownKeys] = [3_600_000, 5_000]

interface KeyRow extends Omit<ProofKey, 'owner'> {
  readonly owner: string | null
}

/** Returns the condition of rows to prune. It skips rows that another gateway is deleting, so neither gateway waits. */
function formatOldRowsCondition(db: Sql): string {
  const { skipLocked } = rowLocksOf(db)
  const isOld = 'id <= (SELECT max(id) FROM proof_keys) - ?'
  return skipLocked === '' ? isOld : `id IN (SELECT id FROM proof_keys WHERE ${isOld} ${skipLocked})`
}

export function createProofKeyTable(db: Sql): ProofKeyTable {
  const findUse = db.prepare<{ used_at: number }>('SELECT used_at FROM proof_keys WHERE digest = ?')
  const remove = db.prepare('DELETE FROM proof_keys WHERE digest = ?')
  const insert = db.prepare(
    'INSERT OR IGNORE INTO proof_keys (digest, kind, material, owner, used_at) VALUES (?, ?, ?, ?, ?)',
  )
  const prune = db.prepare(`DELETE FROM proof_keys WHERE ${formatOldRowsCondition(db)}`)
  const find = db.prepare<KeyRow>('SELECT digest, kind, material, owner FROM proof_keys WHERE digest = ?')
  const lastSeen = new Map<string, number>()

  function upsertKey({ digest, kind, material, owner }: ProofKey, usedAt: number | undefined, now: number): void {
    if (usedAt !== undefined && usedAt > now - useUpdateMs) return
    // A new row has the highest id, so the order of ids is the order of last use.
    if (usedAt !== undefined) remove.run(digest)
    insert.run(digest, kind, material, owner ?? null, now)
    prune.run(maxStoredKeys)
  }

  return {
    choose: (keys, now) => keys.filter(({ digest }) => (lastSeen.get(digest) ?? 0) <= now - knownMs),
    noteStored(keys, now) {
      if (lastSeen.size >= maxKnownKeys) lastSeen.clear()
      for (const { digest } of keys) lastSeen.set(digest, now)
    },
    findUse: ({ digest }) => findUse.get(digest)?.used_at,
    keep(keys, uses, now) {
      for (const [index, key] of keys.entries()) upsertKey(key, uses[index], now)
    },
    find(digest) {
      const row = find.get(digest)
      return row && { ...row, owner: row.owner ?? undefined }
    },
    forgetOwners(owners) {
      lastSeen.clear()
      // This statement reads the whole table and is rare, so it is prepared here.
      const deleteByOwner = db.prepare('DELETE FROM proof_keys WHERE owner IN (SELECT value FROM json_each(?))')
      return deleteByOwner.run(formatJson(owners)).changes
    },
  }
}
