// Stores the public keys that proved messages.
import type { ProofKey } from '@postern/message'
import { formatJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'

/** The table of public keys that proved messages. */
export interface ProofKeyTable {
  /** Returns the keys that were not stored recently. The caller calls it before the write, because a write may run twice and the cache may change in between. */
  selectUncached(keys: readonly ProofKey[], now: number): readonly ProofKey[]
  /** Caches stored keys. The caller waits until their write is durable, because a write may be undone. */
  cacheStored(keys: readonly ProofKey[], now: number): void
  /** Finds the stored time of the last use of a key. Runs inside a write. */
  findUse(key: ProofKey): Operation<number | undefined>
  /** Stores keys and the time of their use, inside a write. `uses` are the results of `findUse` for the keys. */
  upsertAll(keys: readonly ProofKey[], uses: readonly (number | undefined)[], now: number): void
  find(digest: string): Operation<ProofKey | undefined>
  /** Deletes the keys of these principals, inside a write, and returns their number. */
  forgetOwners(owners: readonly string[]): Operation<number>
}

/** The maximum number of keys in the table. The keys that were unused for longest are deleted, because a sender can invent any number of keys. */
const maxStoredKeys = 20_000

/** The time after which a new use of a key is stored again, ms. */
const useUpdateMs = 12 * 3_600_000

/** The time for which a cached key counts as stored, ms, and the maximum number of cached keys. */
const [cacheMs, maxCachedKeys] = [3_600_000, 5_000]

interface KeyRow extends Omit<ProofKey, 'owner'> {
  readonly owner: string | null
}

/** Formats the condition of the rows to prune. The condition skips rows that another gateway is deleting, so that neither gateway waits. */
function formatOldRowsCondition(db: Sql): string {
  const { skipLocked } = db.rowLocks
  const oldRowCondition = 'id <= (SELECT max(id) FROM proof_keys) - ?'
  return skipLocked === ''
    ? oldRowCondition
    : `id IN (SELECT id FROM proof_keys WHERE ${oldRowCondition} ${skipLocked})`
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
    selectUncached: (keys, now) => keys.filter(({ digest }) => (lastSeen.get(digest) ?? 0) <= now - cacheMs),
    cacheStored(keys, now) {
      if (lastSeen.size >= maxCachedKeys) lastSeen.clear()
      for (const { digest } of keys) lastSeen.set(digest, now)
    },
    *findUse({ digest }) {
      return (yield* findUse.get(digest))?.used_at
    },
    upsertAll(keys, uses, now) {
      for (const [index, key] of keys.entries()) upsertKey(key, uses[index], now)
    },
    *find(digest) {
      const row = yield* find.get(digest)
      return row && { ...row, owner: row.owner ?? undefined }
    },
    *forgetOwners(owners) {
      lastSeen.clear()
      // This statement reads the whole table and is rare, so it is prepared here.
      const deleteByOwner = db.prepare('DELETE FROM proof_keys WHERE owner IN (SELECT value FROM json_each(?))')
      return yield* deleteByOwner.change(formatJson(owners))
    },
  }
}
