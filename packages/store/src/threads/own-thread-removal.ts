// Deletes an empty thread of an owner.
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import { formatZeroTotalDeletion } from '../transaction/zero-totals.ts'

/**
 * Prepares the deletion of an empty thread of an owner, with its key and the state of agents for it. A thread with any message stays, for example with
 * the event of another canceled task. The deletion is an operation of a write.
 */
export function createOwnThreadRemoval(db: Sql): (thread: number, owner: string) => Operation<void> {
  const deleteThread = db.prepare<{ key: string; agent: string; channel: string }>(
    `DELETE FROM threads WHERE id = ?1 AND scope = ?2
       AND NOT EXISTS (SELECT 1 FROM messages WHERE thread_id = ?1 AND scope = 'conversation')
       AND NOT EXISTS (SELECT 1 FROM messages WHERE thread_id = ?1 AND scope IN ('event', 'kept')) RETURNING key, agent, channel`,
  )
  const deleteKey = db.prepare(
    'DELETE FROM thread_aliases WHERE name = ? AND agent = ? AND channel = ? AND scope = ? AND is_key = 1 AND thread_id = ?',
  )
  const deletions = [
    'DELETE FROM agent_states WHERE thread_id = ?',
    'DELETE FROM turn_quotas WHERE thread_id = ?',
    // The number of a thread may be used again, so its bindings are deleted, too.
    'DELETE FROM transcript_bindings WHERE store_thread = ?',
  ].map(sql => db.prepare(sql))
  const deleteZeroTotals = db.prepare(formatZeroTotalDeletion('kept_data', ['records', 'bytes']))
  return function* (thread, owner) {
    const removedThread = yield* deleteThread.get(thread, owner)
    if (!removedThread) return
    deleteKey.run(removedThread.key, removedThread.agent, removedThread.channel, owner, thread)
    for (const deletion of deletions) deletion.run(thread)
    deleteZeroTotals.run(owner)
  }
}
