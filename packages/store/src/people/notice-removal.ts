// Deletes the message that carried a link code or announced a link.
import type { RemoveMessage } from '../forgetting/remove-message.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { Batch } from '../transaction/batch.ts'

/** Deletes a notice that the gateway sent to a person. */
export type RemoveNotice = (batch: Batch, notice: string, now: number) => Operation<void>

export function createNoticeRemoval(db: Sql, removeMessage: RemoveMessage): RemoveNotice {
  const find = db.prepare<{ message: number }>(
    "SELECT n.message FROM thread_aliases n JOIN messages m ON m.seq = n.message WHERE n.name = 'post:' || ?1 AND m.native_id = 'post:' || ?1",
  )
  return function* (batch, notice, now) {
    for (const { message } of yield* find.all(notice)) yield* removeMessage(batch, message, now)
  }
}
