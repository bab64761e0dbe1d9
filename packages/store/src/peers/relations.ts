// Writes and checks relations of agents with peers, such as followers and blocks.
import type { Relation, RelationKey } from '@postern/pipeline'
import { digestName } from '../digests/digest-name.ts'
import { formatJson } from '../sql/json-columns.ts'
import type { WriterExclusivity } from '../sql/ownership.ts'
import type { Sql } from '../sql/sql.ts'
import { loadRareKeys } from './rare-keys.ts'

/** Writes to the relations table (`follower`, `blocked_by`, …). Its members run synchronously, inside a write. */
export interface RelationTable {
  has(key: RelationKey): boolean
  relate(key: RelationKey, target: Relation['target'], now: number): void
  unrelate(key: RelationKey): void
  forgetPeer(via: string, peer: string): void
  /** Ends all relations of a peer except a block. */
  deleteRelations(via: string, peer: string): void
}

/** Relations that protect a peer. They stay when the gateway forgets the peer, and then name the peer by a digest. */
const protectingRelations: ReadonlySet<string> = new Set(['blocked_by', 'suppressed'])

/** The condition that matches a peer by name, or by digest where the relation may have forgotten the name. */
export const isKey = 'agent = ? AND channel = ? AND relation = ? AND peer IN (?, ?)'

export function createRelationTable(db: Sql, ownership: WriterExclusivity): RelationTable {
  const find = db.prepare(`SELECT 1 FROM relations WHERE ${isKey}`)
  const blocks = loadRareKeys(db, "SELECT agent, channel, peer FROM relations WHERE relation = 'blocked_by'", ownership)
  const mayHave = ({ agent, via, relation, peer }: RelationKey) =>
    relation !== 'blocked_by' || blocks.mayHave([agent, via, peer]) || blocks.mayHave([agent, via, digestName(peer)])
  const insert = db.prepare(
    `INSERT INTO relations (agent, channel, relation, peer, target, since) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (agent, channel, relation, peer) DO UPDATE SET target = excluded.target`,
  )
  const remove = db.prepare(`DELETE FROM relations WHERE ${isKey}`)
  const removePeer = db.prepare('DELETE FROM relations WHERE peer IN (?, ?) AND channel = ?')
  const removeOpen = db.prepare("DELETE FROM relations WHERE peer = ? AND channel = ? AND relation <> 'blocked_by'")
  return {
    has: key => mayHave(key) && find.get(...keyValues(key)) !== undefined,
    relate(key, target, now) {
      if (key.relation === 'blocked_by') blocks.note([key.agent, key.via, key.peer])
      insert.run(key.agent, key.via, key.relation, key.peer, formatJson(target), now)
    },
    unrelate: key => void remove.run(...keyValues(key)),
    forgetPeer: (via, peer) => void removePeer.run(peer, digestName(peer), via),
    deleteRelations: (via, peer) => void removeOpen.run(peer, via),
  }
}

export function keyValues({ agent, via, relation, peer }: RelationKey): [string, string, string, string, string] {
  return [agent, via, relation, peer, protectingRelations.has(relation) ? digestName(peer) : peer]
}
