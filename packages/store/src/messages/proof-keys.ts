import type { ProofKey } from '@postern/core'
import type { Database } from '../engine/database.ts'
import { formatJson, prepareQuery, rowLocksOf } from '../engine/database.ts'

/** Public keys that proved messages. Synchronous: inside a write. */
export interface ProofKeyTable {
  /** Those that were not seen lately. Asked before a write: what is known may change while it runs, and it may run twice. */
  choose(keys: readonly ProofKey[], now: number): readonly ProofKey[]
  /** To be called when they are durable: a write may be undone. */
  noteStored(keys: readonly ProofKey[], now: number): void
  /** When it was used last, as far as it is stored. */
  findUse(key: ProofKey): number | undefined
  /** `uses`: what `findUse` says of each. */
  keep(keys: readonly ProofKey[], uses: readonly (number | undefined)[], now: number): void
  find(digest: string): ProofKey | undefined
  /** Keys of these principals. */
  forgetOwners(owners: readonly string[]): void
}

/** So many are kept, the longest unused go first: whoever makes up actors makes up keys. */
const keptInAll = 20_000
/** The use of a key is written again after so long. */
const noteUseMs = 12 * 3_600_000
/** A key that was there is not looked for again for so long; of so many keys. */
const [knownMs, maxKnown] = [3_600_000, 5_000]

interface KeyRow extends Omit<ProofKey, 'owner'> {
  readonly owner: string | null
}

/** Two gateways that want the same row gone need not wait for each other. */
function oldRows(db: Database): string {
  const { skipLocked } = rowLocksOf(db)
  const areOld = 'id <= (SELECT max(id) FROM proof_keys) - ?'
  return skipLocked === '' ? areOld : `id IN (SELECT id FROM proof_keys WHERE ${areOld} ${skipLocked})`
}

export function createProofKeyTable(db: Database): ProofKeyTable {
  const findUse = prepareQuery<{ used_at: number }>(db, 'SELECT used_at FROM proof_keys WHERE digest = ?')
  const remove = prepareQuery(db, 'DELETE FROM proof_keys WHERE digest = ?')
  const insert = prepareQuery(
    db,
    'INSERT OR IGNORE INTO proof_keys (digest, kind, material, owner, used_at) VALUES (?, ?, ?, ?, ?)',
  )
  const prune = prepareQuery(db, `DELETE FROM proof_keys WHERE ${oldRows(db)}`)
  const find = prepareQuery<KeyRow>(db, 'SELECT digest, kind, material, owner FROM proof_keys WHERE digest = ?')
  const known = new Map<string, number>()

  function keepOne({ digest, kind, material, owner }: ProofKey, usedAt: number | undefined, now: number): void {
    if (usedAt !== undefined && usedAt > now - noteUseMs) return
    // Its place among the others is that of its last use.
    if (usedAt !== undefined) remove.run(digest)
    insert.run(digest, kind, material, owner ?? null, now)
    prune.run(keptInAll)
  }

  return {
    choose: (keys, now) => keys.filter(({ digest }) => (known.get(digest) ?? 0) <= now - knownMs),
    noteStored(keys, now) {
      if (known.size >= maxKnown) known.clear()
      for (const { digest } of keys) known.set(digest, now)
    },
    findUse: ({ digest }) => findUse.get(digest)?.used_at,
    keep(keys, uses, now) {
      for (const [at, key] of keys.entries()) keepOne(key, uses[at], now)
    },
    find(digest) {
      const row = find.get(digest)
      return row && { ...row, owner: row.owner ?? undefined }
    },
    forgetOwners(owners) {
      known.clear()
      // Reads the whole table: prepared when somebody is forgotten.
      prepareQuery(db, 'DELETE FROM proof_keys WHERE owner IN (SELECT value FROM json_each(?))').run(formatJson(owners))
    },
  }
}
