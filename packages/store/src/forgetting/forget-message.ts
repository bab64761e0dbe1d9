// Forgets the content of a message.
import type { BlobTable } from '../blobs/blob-table.ts'
import type { NoteTable } from '../messages/notes.ts'
import type { DeliveryTable, OpenDelivery } from '../queue/deliveries/delivery-table.ts'
import type { TurnTable } from '../queue/turns/turn-table.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { EntryTable } from '../threads/entries.ts'
import type { Batch } from '../transaction/batch.ts'

/**
 * Deletes the content of a message, cancels its turn and ends its deliveries. The ids of the message, the address of its sender and its position
 * stay, unless the caller removes its rows afterwards.
 */
export type ForgetMessage = (batch: Batch, message: number, now: number, options?: ForgetOptions) => Operation<void>

interface ForgetOptions {
  /** True if the caller removes the rows of the message and of its deliveries afterwards. */
  readonly isRemoved: boolean
}

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
  // The open deliveries of a retracted answer announce its retraction, so they continue.
  const listOpenDeliveries = db.prepare<OpenDelivery>(
    `SELECT number, thread_id, destination, state FROM deliveries WHERE message = ?1 AND ended_at IS NULL AND (?2 = 1 OR NOT EXISTS
       (SELECT 1 FROM messages r WHERE r.seq = deliveries.response_seq AND r.retracted_at IS NOT NULL))`,
  )
  const eraseTraces = db.prepare(
    'UPDATE turns SET trace = NULL WHERE message IN (?1, (SELECT merged_into FROM turns WHERE message = ?1))',
  )
  const endBroadcasts = db.prepare(
    'UPDATE broadcasts SET due_at = NULL, lease_owner = NULL, ended_at = ? WHERE message = ? AND due_at IS NOT NULL',
  )
  return function* (batch, message, now, { isRemoved } = { isRemoved: false }) {
    const finishDelivery = isRemoved ? deliveries.end : deliveries.giveUp
    // The message may have got new rows since it was forgotten, such as deliveries of changes that the agent made to its answer.
    erase.run(message, now)
    entries.erase(message)
    yield* notes.remove(batch, message)
    yield* blobs.release(batch, message)
    // Errors of failed attempts may quote the content.
    eraseTraces.run(message)
    endBroadcasts.run(now, message)
    for (const openDelivery of yield* listOpenDeliveries.all(message, isRemoved ? 1 : 0))
      yield* finishDelivery(
        batch,
        openDelivery,
        { reason: 'taken_back', error: 'what it answers was taken back by its author' },
        now,
      )
    // The turn is cancelled last, because this queues the withdrawals of its partial answers after the other deliveries.
    yield* turns.cancelMessageTurn(batch, message, now, isRemoved ? 'removed' : 'deleted')
  }
}
