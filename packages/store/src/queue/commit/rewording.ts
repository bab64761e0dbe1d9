// Revises and deletes the content of a response.
import type { NormalizedResponse } from '@postern/message'
import type { Answer, Blob } from '@postern/pipeline'
import type { BlobTable } from '../../blobs/blob-table.ts'
import type { NoteTable } from '../../messages/notes.ts'
import type { ResponsePosition, ResponseTable } from '../../messages/responses.ts'
import { draftResponse } from '../../messages/responses.ts'
import type { Operation } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'
import { createTaskByteTracker } from '../../tasks/task-table.ts'
import type { Batch } from '../../transaction/batch.ts'
import type { DeliveryTable, OpenDelivery } from '../deliveries/delivery-table.ts'

/** The new content of a response. */
interface NewContent extends Pick<Answer, 'withdrawal'> {
  readonly response: NormalizedResponse
  readonly blobs?: readonly Blob[] | undefined
}

/** Revises and deletes responses of agents. The members are operations of a write. */
export interface Rewording {
  /** Replaces the content of a response and sends nothing. */
  reword(
    batch: Batch,
    position: Pick<ResponsePosition, 'seq' | 'message'>,
    content: NewContent,
    now: number,
  ): Operation<void>
  /** Deletes the content of a response and ends its open deliveries. */
  retract(batch: Batch, position: Pick<ResponsePosition, 'seq' | 'message'>, now: number): Operation<void>
}

export interface RewordingDeps {
  readonly notes: NoteTable
  readonly responses: ResponseTable
  readonly blobs: BlobTable
  readonly deliveries: DeliveryTable
}

export function createRewording(db: Sql, { notes, responses, blobs, deliveries }: RewordingDeps): Rewording {
  const countChange = createTaskByteTracker(db)
  const stopDeliveries = createDeliveryStop(db, deliveries)
  return {
    *reword(batch, { seq, message }, { response, withdrawal, blobs: newBlobs = [] }, now) {
      yield* countChange(batch, message, function* () {
        responses.revise(seq, draftResponse(response, { withdrawal }), now)
        yield* blobs.insertAll(newBlobs, message)
        yield* blobs.releaseUnnamed(batch, message, seq)
      })
    },
    *retract(batch, { seq, message }, now) {
      yield* stopDeliveries(batch, { seq, message }, now)
      yield* countChange(batch, message, function* () {
        yield* notes.remove(batch, message)
        responses.retract(seq, now)
        yield* blobs.releaseUnnamed(batch, message, seq)
      })
    },
  }
}

/** Prepares the end of a response's open deliveries. */
function createDeliveryStop(db: Sql, deliveries: DeliveryTable) {
  const listOpenDeliveries = db.prepare<OpenDelivery>(
    'SELECT number, thread_id, destination, state FROM deliveries WHERE response_seq = ? AND ended_at IS NULL',
  )
  const endBroadcasts = db.prepare(
    'UPDATE broadcasts SET due_at = NULL, lease_owner = NULL, ended_at = ? WHERE response_seq = ? AND due_at IS NOT NULL',
  )
  // The deliveries of a broadcast have no own document.
  const eraseDocuments = db.prepare(
    'UPDATE deliveries SET wire = NULL WHERE message = ? AND response_seq = ? AND broadcast IS NULL AND wire IS NOT NULL',
  )
  return function* (
    batch: Batch,
    { seq, message }: Pick<ResponsePosition, 'seq' | 'message'>,
    now: number,
  ): Operation<void> {
    const cause = { reason: 'taken_back', error: 'the agent has taken it back' } as const
    for (const openDelivery of yield* listOpenDeliveries.all(seq))
      yield* deliveries.giveUp(batch, openDelivery, cause, now)
    endBroadcasts.run(now, seq)
    eraseDocuments.run(message, seq)
  }
}
