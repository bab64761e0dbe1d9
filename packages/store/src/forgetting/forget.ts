import type { BlobTable } from '../blobs/table.ts'
import type { EntryTable } from '../conversations/entries.ts'
import type { DeliveryTable, OpenDelivery } from '../deliveries/queue.ts'
import type { Batch, Sql } from '../engine/database.ts'
import type { NoteTable } from '../turns/note-table.ts'
import type { TurnTable } from '../turns/table.ts'

/** Takes the content out of a message and ends what it caused; its ids, its sender's address and its place stay. */
export type ForgetMessage = (batch: Batch, message: number, now: number) => void

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
  const findOpen = db.prepare<OpenDelivery>(
    'SELECT number, thread_id, destination, state FROM deliveries WHERE message = ? AND ended_at IS NULL',
  )
  const eraseAttempts = db.prepare(
    'UPDATE turns SET trace = NULL WHERE message IN (?1, (SELECT merged_into FROM turns WHERE message = ?1))',
  )
  const endBroadcasts = db.prepare(
    'UPDATE broadcasts SET due_at = NULL, lease_owner = NULL, ended_at = ? WHERE message = ? AND due_at IS NOT NULL',
  )
  return (batch, message, now) => {
    // Of one that is forgotten already there may be more by now: what the agent changed of its answer is on its way.
    erase.run(message, now)
    entries.erase(message)
    notes.remove(batch, message)
    blobs.release(batch, message)
    // What failed over its words may show them.
    eraseAttempts.run(message)
    turns.cancelOf(batch, message, now, 'deleted')
    endBroadcasts.run(now, message)
    for (const open of findOpen.all(message)) {
      deliveries.giveUp(batch, open, 'what it answers was taken back by its author', now)
    }
  }
}
