import type { Relation, RelationKey, RelationStore } from '@postern/core'
import type { Database, Ownership } from '../engine/database.ts'
import { formatJson, loadRareKeys, parseJson, prepareQuery } from '../engine/database.ts'
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

export function createRelationTable(db: Database, ownership: Ownership): RelationTable {
  const find = prepareQuery(db, `SELECT 1 FROM relations WHERE ${isKey}`)
  const blocks = loadRareKeys(db, "SELECT agent, channel, peer FROM relations WHERE relation = 'blocked_by'", ownership)
  const mayHave = ({ agent, via, relation, peer }: RelationKey) =>
    relation !== 'blocked_by' || blocks.mayHave([agent, via, peer])
  const insert = prepareQuery(
    db,
    `INSERT INTO relations (agent, channel, relation, peer, target, since) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (agent, channel, relation, peer) DO UPDATE SET target = excluded.target`,
  )
  const remove = prepareQuery(db, `DELETE FROM relations WHERE ${isKey}`)
  const removePeer = prepareQuery(db, 'DELETE FROM relations WHERE peer = ? AND channel = ?')
  const removeOpen = prepareQuery(
    db,
    "DELETE FROM relations WHERE peer = ? AND channel = ? AND relation <> 'blocked_by'",
  )
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
  const find = prepareQuery<RelationRow>(db, `${select} WHERE ${isKey}`)
  const list = prepareQuery<RelationRow>(
    db,
    `${select} INDEXED BY relations_oldest WHERE agent = ? AND channel = ? AND relation = ? AND id > ? ORDER BY id LIMIT +?`,
  )
  const listAll = prepareQuery<RelationRow>(db, `${select} WHERE id > ? ORDER BY id LIMIT +?`)
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
export function prepareAgentTotal(db: Database): (agent: string, via: string, name: string) => number {
  const find = prepareQuery<{ value: number | null }>(
    db,
    'SELECT sum(value) AS value FROM agent_totals WHERE agent = ? AND channel = ? AND name = ?',
  )
  return (agent, via, name) => find.get(agent, via, name)?.value ?? 0
}
