// Deletes empty threads of an owner.
import type { Sql } from '../sql/sql.ts'
import { endZeroTotals } from '../transaction/zero-totals.ts'

/**
 * Deletes an empty thread of an owner with its names and the state that agents keep for it. A thread with a message of any kind stays, such as
 * with the event of another task that was canceled. It runs synchronously, inside a write.
 */
export function createOwnThreadRemoval(db: Sql): (thread: number, owner: string) => void {
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
    // The number of a thread may be given again, so its state is deleted, too.
    'DELETE FROM transcript_bindings WHERE store_thread = ?',
  ].map(sql => db.prepare(sql))
  const deleteZeroTotals = db.prepare(endZeroTotals('kept_data', ['records', 'bytes']))
  return (thread, owner) => {
    const removedThread = deleteThread.get(thread, owner)
    if (!removedThread) return
    deleteKey.run(removedThread.key, removedThread.agent, removedThread.channel, owner, thread)
    for (const deletion of deletions) deletion.run(thread)
    deleteZeroTotals.run(owner)
  }
}
