import type { Blob, NormalizedResponse } from '@postern/core'
import type { BlobTable } from '../blobs/table.ts'
import type { DeliveryTable, OpenDelivery } from '../deliveries/queue.ts'
import type { Batch, Sql } from '../engine/database.ts'
import type { ResponsePlace, ResponseTable } from '../messages/responses.ts'
import { draftResponse } from '../messages/responses.ts'
import { createTaskShares } from '../tasks/table.ts'
import type { NoteTable } from '../turns/note-table.ts'

/** What an answer is replaced with. */
interface Words {
  readonly response: NormalizedResponse
  readonly blobs?: readonly Blob[] | undefined
}

/** What agents revise and take back of what they have said. Synchronous: inside a write. */
export interface Rewording {
  /** Other words for a response; nothing is sent. */
  reword(batch: Batch, place: Pick<ResponsePlace, 'seq' | 'message'>, words: Words, now: number): void
  /** The content is gone, what is still to be delivered of it dies. */
  retract(batch: Batch, place: Pick<ResponsePlace, 'seq' | 'message'>, now: number): void
}

export interface RewordingDeps {
  readonly notes: NoteTable
  readonly responses: ResponseTable
  readonly blobs: BlobTable
  readonly deliveries: DeliveryTable
}

export function createRewording(db: Sql, { notes, responses, blobs, deliveries }: RewordingDeps): Rewording {
  const bookChange = createTaskShares(db)
  const stopSending = createSendingStop(db, deliveries)
  return {
    reword(batch, { seq, message }, { response, blobs: newBlobs = [] }, now) {
      bookChange(batch, message, () => {
        responses.revise(seq, draftResponse(response), now)
        blobs.keepAll(newBlobs, message)
        blobs.releaseUnnamed(batch, message, seq)
      })
    },
    retract(batch, { seq, message }, now) {
      stopSending(batch, { seq, message }, now)
      bookChange(batch, message, () => {
        notes.remove(batch, message)
        responses.retract(seq, now)
        blobs.releaseUnnamed(batch, message, seq)
      })
    },
  }
}

/** What is still to be delivered of a response dies. */
function createSendingStop(db: Sql, deliveries: DeliveryTable) {
  const findOpen = db.prepare<OpenDelivery>(
    'SELECT number, thread_id, destination, state FROM deliveries WHERE response_seq = ? AND ended_at IS NULL',
  )
  const endBroadcasts = db.prepare(
    'UPDATE broadcasts SET due_at = NULL, lease_owner = NULL, ended_at = ? WHERE response_seq = ? AND due_at IS NOT NULL',
  )
  // Of what goes to many each delivery keeps the name alone.
  const forgetWires = db.prepare(
    'UPDATE deliveries SET wire = NULL WHERE message = ? AND response_seq = ? AND broadcast IS NULL AND wire IS NOT NULL',
  )
  return (batch: Batch, { seq, message }: Pick<ResponsePlace, 'seq' | 'message'>, now: number): void => {
    for (const open of findOpen.all(seq)) deliveries.giveUp(batch, open, 'the agent has taken it back', now)
    endBroadcasts.run(now, seq)
    forgetWires.run(message, seq)
  }
}
