// Finds the task that waits for a requirement and for no other open requirement.
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'

/** Finds the task of the message that caused a requirement, if the task still waits and has no other open requirement in the thread at this time. */
type FindWaitingTask = (
  requirement: { readonly message: number; readonly thread: number },
  now: number,
) => Operation<number | undefined>

export function createWaitingTaskFinder(db: Sql): FindWaitingTask {
  const find = db.prepare<{ id: number }>(
    `SELECT t.id FROM messages m JOIN tasks t ON t.id = m.task_id
     WHERE m.seq = ?1 AND t.state IN ('input_required', 'auth_required') AND NOT EXISTS (
       SELECT 1 FROM requirements r INDEXED BY requirements_open JOIN messages asked ON asked.seq = r.message
       WHERE r.thread_id = ?2 AND r.status = 'open' AND r.expires_at > ?3 AND asked.task_id = t.id)`,
  )
  return function* ({ message, thread }, now) {
    return (yield* find.get(message, thread, now))?.id
  }
}
