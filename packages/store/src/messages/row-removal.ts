import type { DeliveryRecord, MessageState } from '@postern/core'
import type { BlobTable } from '../blobs/table.ts'
import { createEntryRemoval } from '../conversations/entry-removal.ts'
import type { Batch, Sql } from '../engine/database.ts'
import { addToTotal } from '../engine/database.ts'

interface RemovedResponse {
  readonly seq: number
  readonly id: string
  readonly bytes: number
}

interface RemovedRows {
  readonly responses: readonly RemovedResponse[]
  /** Of its attachments and its answer's. */
  readonly blobBytes: number
}

/** Deletes a message with its answer and all that hangs on them, but for notes and names, and books it out of the totals. Synchronous: inside a write. */
type RemoveRows = (batch: Batch, message: number) => RemovedRows

export function createRowRemoval(db: Sql, { blobs }: { readonly blobs: BlobTable }): RemoveRows {
  const endTurn = db.prepare<{ state: MessageState }>('DELETE FROM turns WHERE message = ? RETURNING state')
  const endDeliveries = createDeliveryRemoval(db)
  const findResponses = db.prepare<RemovedResponse>(
    "SELECT seq, native_id AS id, octet_length(content) AS bytes FROM messages WHERE kind = 'response' AND answers = ?",
  )
  const endDuplicates = db.prepare('DELETE FROM duplicates WHERE message = ?')
  const endRecords = db.prepare('DELETE FROM records WHERE message = ?')
  const removeEntry = createEntryRemoval(db)
  return (batch, message) => {
    endDeliveries(batch, message)
    addToTotal(batch, `messages.${endTurn.get(message)?.state ?? 'ignored'}`, -1)
    const blobBytes = blobs.release(batch, message)
    const responses = findResponses.all(message)
    endDuplicates.run(message)
    endRecords.run(message)
    for (const { seq } of responses) removeEntry(seq)
    removeEntry(message)
    return { responses, blobBytes }
  }
}

/**
 * Deletes deliveries. The newest number is kept, empty and of no message, so that it is not given again: who is still trying to deliver it
 * would settle the next one, and a bounce of it would hit that. `condition`: of one value.
 */
export function createDeliveryRemoval(
  db: Sql,
  condition = 'message = ?1',
): (batch: Batch, value: number | string) => void {
  const find = db.prepare<{ number: number; state: DeliveryRecord['state'] }>(
    `SELECT number, state FROM deliveries WHERE ${condition}`,
  )
  const blank = db.prepare(
    `UPDATE deliveries SET message = 0, thread_id = 0, response_seq = NULL, broadcast = NULL, destination = '', host = NULL, peer = NULL,
       target = 'null', state = 'sent', due_at = NULL, lease_owner = NULL, ended_at = 0, last_error = NULL, note = NULL, wire = NULL
     WHERE number = ? AND number = (SELECT max(number) FROM deliveries)`,
  )
  const end = db.prepare('DELETE FROM deliveries WHERE number = ?')
  return (batch, value) => {
    for (const { number, state } of find.all(value)) {
      addToTotal(batch, `deliveries.${state}`, -1)
      if (blank.run(number).changes === 0) end.run(number)
    }
  }
}
