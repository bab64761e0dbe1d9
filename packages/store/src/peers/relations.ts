// Writes and checks relations of agents with peers, such as followers and blocks.
import type { Relation, RelationKey } from '@postern/pipeline'
import { digestName } from '../digests/digest-name.ts'
import { formatJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import type { WriterExclusivity } from '../sql/ownership.ts'
import type { Sql } from '../sql/sql.ts'
import { loadRareKeys } from './rare-keys.ts'

/** The table of relations, such as `follower` and `blocked_by`. The members are operations of a write. */
export interface RelationTable {
  has(key: RelationKey): Operation<boolean>
  relate(key: RelationKey, target: Relation['target'], now: number): void
  unrelate(key: RelationKey): void
  forgetPeer(via: string, peer: string): void
  /** Ends all relations of a peer except a block. */
  deleteRelations(via: string, peer: string): void
}

/** The relations that protect a peer. They stay when the gateway forgets the peer, with a digest instead of the name. */
const protectingRelations: ReadonlySet<string> = new Set(['blocked_by', 'suppressed'])

/** The condition that matches the key of a relation, whose peer may be stored as a name or as a digest. */
export const relationKeyCondition = 'agent = ? AND channel = ? AND relation = ? AND peer IN (?, ?)'

export function createRelationTable(db: Sql, ownership: WriterExclusivity): RelationTable {
  const find = db.prepare(`SELECT 1 FROM relations WHERE ${relationKeyCondition}`)
  const blocks = loadRareKeys(db, "SELECT agent, channel, peer FROM relations WHERE relation = 'blocked_by'", ownership)
  const mayHave = ({ agent, via, relation, peer }: RelationKey) =>
    relation !== 'blocked_by' || blocks.mayHave([agent, via, peer]) || blocks.mayHave([agent, via, digestName(peer)])
  const insert = db.prepare(
    `INSERT INTO relations (agent, channel, relation, peer, target, since) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (agent, channel, relation, peer) DO UPDATE SET target = excluded.target`,
  )
  const remove = db.prepare(`DELETE FROM relations WHERE ${relationKeyCondition}`)
  const removePeer = db.prepare('DELETE FROM relations WHERE peer IN (?, ?) AND channel = ?')
  const removeUnlessBlock = db.prepare(
    "DELETE FROM relations WHERE peer = ? AND channel = ? AND relation <> 'blocked_by'",
  )
  return {
    *has(key) {
      return mayHave(key) && (yield* find.get(...keyValues(key))) !== undefined
    },
    relate(key, target, now) {
      if (key.relation === 'blocked_by') blocks.add([key.agent, key.via, key.peer])
      insert.run(key.agent, key.via, key.relation, key.peer, formatJson(target), now)
    },
    unrelate: key => void remove.run(...keyValues(key)),
    forgetPeer: (via, peer) => void removePeer.run(peer, digestName(peer), via),
    deleteRelations: (via, peer) => void removeUnlessBlock.run(peer, via),
  }
}

export function keyValues({ agent, via, relation, peer }: RelationKey): [string, string, string, string, string] {
  return [agent, via, relation, peer, protectingRelations.has(relation) ? digestName(peer) : peer]
}
