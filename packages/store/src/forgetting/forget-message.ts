// Forgets the content of a message.
import type { BlobTable } from '../blobs/blob-table.ts'
import type { NoteTable } from '../messages/notes.ts'
import type { DeliveryTable, OpenDelivery } from '../queue/deliveries/delivery-table.ts'
import type { TurnTable } from '../queue/turns/turn-table.ts'
import type { Sql } from '../sql/sql.ts'
import type { EntryTable } from '../threads/entries.ts'
import type { Batch } from '../transaction/batch.ts'
import { runParts } from '../transaction/batch.ts'

/**
 * Deletes the content of a message and ends what it caused. Its ids, its sender's address and its position stay. With `isRemoved` its rows are
 * deleted afterwards, with those of its deliveries.
 */
export type ForgetMessage = (batch: Batch, message: number, now: number, isRemoved?: boolean) => void

interface ForgetDeps {
  readonly entries: EntryTable
  readonly notes: NoteTable
  readonly blobs: BlobTable
  readonly turns: TurnTable
  readonly deliveries: DeliveryTable
}

export function createForget(db: Sql, { entries, notes, blobs, turns, deliveries }: ForgetDeps): ForgetMessage {
  const erase = db.prepare(
    `UPDATE messages SET raw = NULL, raw_digest = NULL, arrival = NULL, forgotten_at = ?2,
       envelope = json_remove(envelope, '$.sender.profile', '$.sender.display_name'),
       flags = json_insert(coalesce(flags, '[]'), '$[#]', 'deleted')
     WHERE seq = ?1 AND forgotten_at IS NULL`,
  )
  // An answer that was withdrawn has no open deliveries except those of the withdrawal itself.
  const findOpen = db.prepare<OpenDelivery>(
    `SELECT number, thread_id, destination, state FROM deliveries WHERE message = ?1 AND ended_at IS NULL AND (?2 = 1 OR NOT EXISTS
       (SELECT 1 FROM messages r WHERE r.seq = deliveries.response_seq AND r.retracted_at IS NOT NULL))`,
  )
  const eraseAttempts = db.prepare(
    'UPDATE turns SET trace = NULL WHERE message IN (?1, (SELECT merged_into FROM turns WHERE message = ?1))',
  )
  const deleteBroadcasts = db.prepare(
    'UPDATE broadcasts SET due_at = NULL, lease_owner = NULL, ended_at = ? WHERE message = ? AND due_at IS NOT NULL',
  )
  return (batch, message, now, isRemoved = false) => {
    const finishDelivery = isRemoved ? deliveries.end : deliveries.giveUp
    // A message that is forgotten already may have left more in the meantime, such as deliveries of changes of its answer by the agent.
    erase.run(message, now)
    entries.erase(message)
    notes.remove(batch, message)
    blobs.release(batch, message)
    // Errors of failed attempts may quote the content.
    eraseAttempts.run(message)
    deleteBroadcasts.run(now, message)
    runParts(batch, findOpen.all(message, isRemoved ? 1 : 0), (part, open) =>
      finishDelivery(part, open, { reason: 'taken_back', error: 'what it answers was taken back by its author' }, now),
    )
    // Cancelling the turn comes last. It queues withdrawals of everything that the turn has already said, after the other deliveries.
    turns.cancelOf(batch, message, now, isRemoved ? 'removed' : 'deleted')
  }
}
