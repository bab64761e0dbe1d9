import type { Batch, Sql } from '../engine/database.ts'
import type { RemoveMessage } from '../forgetting/remove-message.ts'

/** Takes out what the gateway told somebody. */
export type RemoveNotice = (batch: Batch, notice: string, now: number) => void

export function createNoticeRemoval(db: Sql, removeMessage: RemoveMessage): RemoveNotice {
  const find = db.prepare<{ message: number }>(
    "SELECT n.message FROM thread_aliases n JOIN messages m ON m.seq = n.message WHERE n.name = 'post:' || ?1 AND m.native_id = 'post:' || ?1",
  )
  return (batch, notice, now) => {
    for (const { message } of find.all(notice)) removeMessage(batch, message, now)
  }
}
