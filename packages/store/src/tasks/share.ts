import type { Batch } from '../engine/batch.ts'
import { addTaskBytes } from '../engine/batch.ts'
import type { Database } from '../engine/database.ts'
import { prepareQuery } from '../engine/database.ts'

/** What a message, its answer and what was noted between them take of the bytes of its task's owner: books what `change` makes of it. Synchronous: inside a write. */
type BookChange = (batch: Batch, message: number, change: () => void) => void

export function createTaskShares(db: Database): BookChange {
  const measure = prepareQuery<{ owner: string; bytes: number }>(
    db,
    `SELECT k.owner, coalesce(octet_length(m.raw), 0) + octet_length(m.content)
       + coalesce((SELECT octet_length(r.content) FROM messages r WHERE r.kind = 'response' AND r.answers = ?1), 0)
       + coalesce((SELECT sum(octet_length(e.content)) FROM messages e
           WHERE e.scope = 'trace' AND e.thread_id = m.thread_id AND e.answers = ?1), 0)
       + coalesce((SELECT sum(bytes) FROM blob_uses WHERE message = ?1), 0) AS bytes
     FROM messages m JOIN tasks k ON k.id = m.task_id WHERE m.seq = ?1 AND m.kind = 'message'`,
  )
  return (batch, message, change) => {
    const before = measure.get(message)
    change()
    if (before) addTaskBytes(batch, before.owner, (measure.get(message)?.bytes ?? 0) - before.bytes)
  }
}
