// Replaces the names of forgotten peers in protecting relations by digests.
import { digestName } from '../digests/digest-name.ts'
import { formatJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'

/** Prepares the removal of names from the relations that protect these peers. `agent` is null for all agents. The removal reads all such relations, which are few. */
export function createNameRemoval(
  db: Sql,
): (
  agent: string | null,
  peers: { readonly subjects: readonly string[]; readonly keys: readonly string[] },
) => Operation<number> {
  const list = db.prepare<{
    id: number
    agent: string
    channel: string
    relation: string
    peer: string
    since: number
  }>(
    `SELECT id, agent, channel, relation, peer, since FROM relations WHERE (?1 IS NULL OR agent = ?1) AND relation IN ('blocked_by', 'suppressed')
       AND (peer IN (SELECT value FROM json_each(?2)) OR channel || ' @' || lower(peer) IN (SELECT value FROM json_each(?3)))`,
  )
  const insert = db.prepare(
    `INSERT INTO relations (agent, channel, relation, peer, target, since) VALUES (?, ?, ?, ?, 'null', ?)
     ON CONFLICT (agent, channel, relation, peer) DO NOTHING`,
  )
  const remove = db.prepare('DELETE FROM relations WHERE id = ?')
  return function* (agent, { subjects, keys }) {
    const rows = yield* list.all(agent, formatJson(subjects), formatJson(keys))
    for (const row of rows) {
      insert.run(row.agent, row.channel, row.relation, digestName(row.peer), row.since)
      remove.run(row.id)
    }
    return rows.length
  }
}
