import type {
  Authorship,
  KnownMessage,
  MessageKind,
  ProofKey,
  Relation,
  RelationKey,
  RelationStore,
  WithdrawalStore,
} from '@postern/core'
import { withdrawalMemoryMs } from '@postern/core'
import type { Ownership, Sql } from '../engine/database.ts'
import { formatJson, parseJson, rowLocksOf } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'

/** Changes of who stands how to whom. Synchronous: inside a write. */
export interface RelationTable {
  has(key: RelationKey): boolean
  relate(key: RelationKey, target: Relation['target'], now: number): void
  unrelate(key: RelationKey): void
  forgetPeer(via: string, peer: string): void
  /** All but a block. */
  endRelations(via: string, peer: string): void
}

const isKey = 'agent = ? AND channel = ? AND relation = ? AND peer = ?'

export function createRelationTable(db: Sql, ownership: Ownership): RelationTable {
  const find = db.prepare(`SELECT 1 FROM relations WHERE ${isKey}`)
  const blocks = loadRareKeys(db, "SELECT agent, channel, peer FROM relations WHERE relation = 'blocked_by'", ownership)
  const mayHave = ({ agent, via, relation, peer }: RelationKey) =>
    relation !== 'blocked_by' || blocks.mayHave([agent, via, peer])
  const insert = db.prepare(
    `INSERT INTO relations (agent, channel, relation, peer, target, since) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (agent, channel, relation, peer) DO UPDATE SET target = excluded.target`,
  )
  const remove = db.prepare(`DELETE FROM relations WHERE ${isKey}`)
  const removePeer = db.prepare('DELETE FROM relations WHERE peer = ? AND channel = ?')
  const removeOpen = db.prepare("DELETE FROM relations WHERE peer = ? AND channel = ? AND relation <> 'blocked_by'")
  return {
    has: key => mayHave(key) && find.get(...keyValues(key)) !== undefined,
    relate(key, target, now) {
      if (key.relation === 'blocked_by') blocks.note([key.agent, key.via, key.peer])
      insert.run(...keyValues(key), formatJson(target), now)
    },
    unrelate: key => void remove.run(...keyValues(key)),
    forgetPeer: (via, peer) => void removePeer.run(peer, via),
    endRelations: (via, peer) => void removeOpen.run(peer, via),
  }
}

function keyValues({ agent, via, relation, peer }: RelationKey): [string, string, string, string] {
  return [agent, via, relation, peer]
}

interface RelationRow extends Omit<RelationKey, 'via'> {
  readonly channel: RelationKey['via']
  readonly id: number
  readonly target: string
  readonly since: number
}

export function createRelationStore({ db }: Pick<StoreContext, 'db'>): Omit<RelationStore, 'decide'> {
  const select = 'SELECT id, agent, channel, relation, peer, target, since FROM relations'
  const find = db.prepare<RelationRow>(`${select} WHERE ${isKey}`)
  const list = db.prepare<RelationRow>(
    `${select} INDEXED BY relations_oldest WHERE agent = ? AND channel = ? AND relation = ? AND id > ? ORDER BY id LIMIT +?`,
  )
  const listAll = db.prepare<RelationRow>(`${select} WHERE id > ? ORDER BY id LIMIT +?`)
  const count = prepareAgentTotal(db)
  return {
    async findRelation(key) {
      const row = find.get(...keyValues(key))
      return row && readRelation(row)
    },
    async listRelations({ limit, after = 0, ...filter }) {
      const rows =
        filter.agent === undefined
          ? listAll.all(after, limit)
          : list.all(filter.agent, filter.via, filter.relation, after, limit)
      return rows.map(readRelation)
    },
    countRelations: async ({ agent, via, relation }) => count(agent, via, relation),
  }
}

function readRelation({ id: place, channel: via, target, ...row }: RelationRow): Relation {
  return { ...row, place, via, target: parseJson(target) }
}

/** A running total of an agent on a channel. */
export function prepareAgentTotal(db: Sql): (agent: string, via: string, name: string) => number {
  const find = db.prepare<{ value: number | null }>(
    'SELECT sum(value) AS value FROM agent_totals WHERE agent = ? AND channel = ? AND name = ?',
  )
  return (agent, via, name) => find.get(agent, via, name)?.value ?? 0
}

/** What was taken back before it came, or while it was on its way. */
export interface WithdrawalTable {
  remember(via: string, authorship: Authorship, now: number): void
  has(via: string, authorship: Authorship, now: number): boolean
}

/** Strangers can fill this; the oldest make room. */
const maxRemembered = 100_000

export function createWithdrawalTable(db: Sql, ownership: Ownership): WithdrawalTable {
  const known = loadRareKeys(db, 'SELECT channel, author, object FROM withdrawals', ownership)
  const insert = db.prepare<{ id: number }>(
    'INSERT INTO withdrawals (author, object, channel, expires_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id',
  )
  const find = db.prepare(
    'SELECT 1 FROM withdrawals WHERE author = ? AND object = ? AND channel = ? AND expires_at > ?',
  )
  // Each one that comes in takes two out, if their time is over: the table shrinks again after a flood.
  const removeOld = db.prepare(
    `DELETE FROM withdrawals WHERE id IN (SELECT id FROM withdrawals WHERE id > 0 ORDER BY id LIMIT 2)
       AND (expires_at <= ?1 OR id <= ?2)`,
  )
  return {
    remember(via, { author, object }, now) {
      known.note([via, author, object])
      const row = insert.get(author, object, via, now + withdrawalMemoryMs)
      if (row) removeOld.run(now, row.id - maxRemembered)
    },
    has: (via, { author, object }, now) =>
      known.mayHave([via, author, object]) && find.get(author, object, via, now) !== undefined,
  }
}

interface AuthoredRow {
  readonly number: number
  readonly id: string
  readonly agent: string
  readonly kind: MessageKind | null
  readonly key: string
  readonly scope: string
  readonly target: string
  readonly kept: number
}

/** Finds what is stored of an author's object, which they may take back. */
export function createAuthoredFinder(db: Sql): WithdrawalStore['findAuthored'] {
  const find = db.prepare<AuthoredRow>(
    `SELECT m.seq AS number, m.native_id AS id, m.agent, json_extract(m.envelope, '$.kind') AS kind, t.key, t.scope, m.target,
       NOT EXISTS (SELECT 1 FROM turns WHERE message = m.seq) AS kept
     FROM messages m JOIN threads t ON t.id = m.thread_id
     WHERE m.forgotten_at IS NULL AND m.principal = ? AND m.object = ? AND m.channel IN (?) LIMIT 1000`,
  )
  return async (via, { author, object }) =>
    find.all(author, object, via).map(
      ({ number, id, agent, kind, key, scope, target, kept }): KnownMessage => ({
        author,
        object,
        agent,
        message: number,
        id,
        kind: kind ?? 'message',
        thread_id: key,
        scope,
        target: parseJson(target),
        isKept: kept === 1,
      }),
    )
}

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
const keptKeys = 20_000
/** The use of a key is written again after so long. */
const noteUseMs = 12 * 3_600_000
/** A key that was there is not looked for again for so long; of so many keys. */
const [knownMs, mostKnownKeys] = [3_600_000, 5_000]

interface KeyRow extends Omit<ProofKey, 'owner'> {
  readonly owner: string | null
}

/** Two gateways that want the same row gone need not wait for each other. */
function oldRows(db: Sql): string {
  const { skipLocked } = rowLocksOf(db)
  const areOld = 'id <= (SELECT max(id) FROM proof_keys) - ?'
  return skipLocked === '' ? areOld : `id IN (SELECT id FROM proof_keys WHERE ${areOld} ${skipLocked})`
}

export function createProofKeyTable(db: Sql): ProofKeyTable {
  const findUse = db.prepare<{ used_at: number }>('SELECT used_at FROM proof_keys WHERE digest = ?')
  const remove = db.prepare('DELETE FROM proof_keys WHERE digest = ?')
  const insert = db.prepare(
    'INSERT OR IGNORE INTO proof_keys (digest, kind, material, owner, used_at) VALUES (?, ?, ?, ?, ?)',
  )
  const prune = db.prepare(`DELETE FROM proof_keys WHERE ${oldRows(db)}`)
  const find = db.prepare<KeyRow>('SELECT digest, kind, material, owner FROM proof_keys WHERE digest = ?')
  const known = new Map<string, number>()

  function keepOne({ digest, kind, material, owner }: ProofKey, usedAt: number | undefined, now: number): void {
    if (usedAt !== undefined && usedAt > now - noteUseMs) return
    // Its place among the others is that of its last use.
    if (usedAt !== undefined) remove.run(digest)
    insert.run(digest, kind, material, owner ?? null, now)
    prune.run(keptKeys)
  }

  return {
    choose: (keys, now) => keys.filter(({ digest }) => (known.get(digest) ?? 0) <= now - knownMs),
    noteStored(keys, now) {
      if (known.size >= mostKnownKeys) known.clear()
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
      db.prepare('DELETE FROM proof_keys WHERE owner IN (SELECT value FROM json_each(?))').run(formatJson(owners))
    },
  }
}

/** More of them are no longer rare. */
const mostRare = 100_000

/** What most messages ask for and few find (a block, a withdrawal): who asks for what was never there is answered without a statement. */
interface RareKeys {
  /** To be called when it is written. */
  note(parts: readonly string[]): void
  /** False: it is not there. True: only the table knows. */
  mayHave(parts: readonly string[]): boolean
}

/**
 * Keys are only added, so that a transaction that is undone cannot make them wrong.
 * @param sql selects all of them, a column for each part
 */
export function loadRareKeys(db: Sql, sql: string, { isAlone }: Ownership): RareKeys {
  if (!isAlone) return { note() {}, mayHave: () => true }
  const rows = db.prepare<Record<string, string>>(`${sql} LIMIT ${mostRare}`).all()
  const keys = new Set(rows.map(row => keyOf(Object.values(row))))
  return {
    note(parts) {
      if (keys.size < mostRare) keys.add(keyOf(parts))
    },
    mayHave: parts => keys.size >= mostRare || keys.has(keyOf(parts)),
  }
}

function keyOf(parts: readonly string[]): string {
  return parts.join('\n')
}
