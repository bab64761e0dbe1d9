import type { Sql } from '../engine/database.ts'
import { endZeroTotals } from '../engine/totals/zero-totals.ts'

/**
 * Takes out a thread of an owner's own, in which nothing is said any more, with its name and what agents remember of it. The threads of an owner's
 * tasks are their own, and hold nothing but conversations. Synchronous: inside a write.
 */
export function createOwnThreadRemoval(db: Sql): (thread: number, owner: string) => void {
  const endThread = db.prepare<{ key: string; agent: string; channel: string }>(
    `DELETE FROM threads WHERE id = ?1 AND scope = ?2
       AND NOT EXISTS (SELECT 1 FROM messages WHERE thread_id = ?1 AND scope = 'conversation') RETURNING key, agent, channel`,
  )
  const endKey = db.prepare(
    'DELETE FROM thread_aliases WHERE name = ? AND agent = ? AND channel = ? AND scope = ? AND is_key = 1 AND thread_id = ?',
  )
  const endRows = [
    'DELETE FROM agent_states WHERE thread_id = ?',
    'DELETE FROM turn_quotas WHERE thread_id = ?',
    // The number of a thread may be given again.
    'DELETE FROM transcript_bindings WHERE store_thread = ?',
  ].map(sql => db.prepare(sql))
  const endKept = db.prepare(endZeroTotals('kept_data', ['records', 'bytes']))
  return (thread, owner) => {
    const removed = endThread.get(thread, owner)
    if (!removed) return
    endKey.run(removed.key, removed.agent, removed.channel, owner, thread)
    for (const end of endRows) end.run(thread)
    endKept.run(owner)
  }
}
