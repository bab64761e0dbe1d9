// Deletes the rows of a message.
import type { DeliveryRecord, MessageState } from '@postern/pipeline'
import type { BlobTable } from '../blobs/blob-table.ts'
import type { HandledKeyTable } from '../peers/handled-keys.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import { createEntryRemoval } from '../threads/entry-removal.ts'
import type { Batch } from '../transaction/batch.ts'
import { addToTotal } from '../transaction/totals.ts'

/** The maximum number of messages that one transaction deletes or forgets, so that other transactions can run in between, also those of other gateways. */
export const maxRemovals = 50

interface RemovedResponse {
  readonly seq: number
  readonly id: string
  readonly bytes: number
}

interface RemovedRows {
  readonly responses: readonly RemovedResponse[]
  /** The number of bytes of the attachments of the message and of its answer. */
  readonly blobBytes: number
}

/**
 * Deletes a message, its answer and all rows that depend on them, except notes and names, and corrects the totals. A digest of the duplicate key
 * stays until it expires. The deletion is an operation of a write.
 */
type RemoveRows = (batch: Batch, message: number, now: number) => Operation<RemovedRows>

interface RowRemovalDeps {
  readonly blobs: BlobTable
  readonly handledKeys: Pick<HandledKeyTable, 'storeDigest'>
}

export function createRowRemoval(db: Sql, { blobs, handledKeys }: RowRemovalDeps): RemoveRows {
  const deleteTurn = db.prepare<{ state: MessageState }>('DELETE FROM turns WHERE message = ? RETURNING state')
  const deleteDeliveries = createDeliveryRemoval(db)
  const findResponses = db.prepare<RemovedResponse>(
    "SELECT seq, native_id AS id, octet_length(content) AS bytes FROM messages WHERE kind = 'response' AND answers = ?",
  )
  const deleteDuplicates = db.prepare('DELETE FROM duplicates WHERE message = ?')
  const deleteRecords = db.prepare('DELETE FROM records WHERE message = ?')
  const removeEntry = createEntryRemoval(db)
  return function* (batch, message, now) {
    yield* handledKeys.storeDigest(message, now)
    yield* deleteDeliveries(batch, message)
    addToTotal(batch, `messages.${(yield* deleteTurn.get(message))?.state ?? 'ignored'}`, -1)
    const blobBytes = yield* blobs.release(batch, message)
    const responses = yield* findResponses.all(message)
    deleteDuplicates.run(message)
    deleteRecords.run(message)
    for (const { seq } of responses) yield* removeEntry(seq)
    yield* removeEntry(message)
    return { responses, blobBytes }
  }
}

/**
 * Prepares the deletion of the deliveries that match `condition`, which has one parameter. The newest row is emptied instead of deleted, because its
 * number would be reused. A worker with the old delivery would then settle the new one, and an old bounce would match it.
 */
export function createDeliveryRemoval(
  db: Sql,
  condition = 'message = ?1',
): (batch: Batch, value: number | string) => Operation<number> {
  const find = db.prepare<{ number: number; state: DeliveryRecord['state'] }>(
    `SELECT number, state FROM deliveries WHERE ${condition}`,
  )
  const clearRow = db.prepare(
    `UPDATE deliveries SET message = 0, thread_id = 0, response_seq = NULL, broadcast = NULL, destination = '', host = NULL, peer = NULL,
       target = 'null', state = 'sent', due_at = NULL, lease_owner = NULL, ended_at = 0, last_error = NULL, reason = NULL, note = NULL, wire = NULL
     WHERE number = ? AND number = (SELECT max(number) FROM deliveries)`,
  )
  const deleteDelivery = db.prepare('DELETE FROM deliveries WHERE number = ?')
  return function* (batch, value) {
    const deliveries = yield* find.all(value)
    for (const { number, state } of deliveries) {
      addToTotal(batch, `deliveries.${state}`, -1)
      if ((yield* clearRow.change(number)) === 0) deleteDelivery.run(number)
    }
    return deliveries.length
  }
}
