// Stores the partial and final answers of agents, and their changes.
import type { NormalizedResponse } from '@postern/message'
import type { Answer, DeliveryPlan } from '@postern/pipeline'
import type { AnswerPosition, ResponseDraft } from '../../messages/responses.ts'
import { draftResponse } from '../../messages/responses.ts'
import type { Operation } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'
import type { ThreadTable } from '../../threads/threads.ts'
import type { Batch } from '../../transaction/batch.ts'
import { addTaskBytes } from '../../transaction/totals.ts'
import type { DeliveryCause } from '../deliveries/new-delivery.ts'
import { createBroadcastStarter } from '../deliveries/start-broadcast.ts'
import type { Rewording, RewordingDeps } from './rewording.ts'
import { createRewording } from './rewording.ts'

/** An answer with the columns of its response, formatted before the transaction begins. */
export interface PartialAnswerDraft {
  readonly answer: Answer
  readonly response: ResponseDraft
}

/** Stores answers and their changes, and queues their deliveries. The members are operations of a write. */
export interface PartialAnswerTable extends Rewording {
  /** Stores an answer and queues its deliveries. @returns the seq of the response, if there is one */
  storeAnswer(
    batch: Batch,
    draft: PartialAnswerDraft | undefined,
    answer: Answer,
    position: AnswerPosition,
  ): Operation<number | undefined>
  queueDeliveries(batch: Batch, planned: DeliveryPlan, cause: DeliveryCause): Operation<void>
  /** Deletes the partial answer of a message's turn in the store and at its recipients. */
  withdrawInterim(batch: Batch, message: number, now: number): Operation<void>
}

interface PartialAnswerDeps extends RewordingDeps {
  readonly threads: ThreadTable
}

export function createPartialAnswerTable(db: Sql, tables: PartialAnswerDeps): PartialAnswerTable {
  const { responses, deliveries } = tables
  const broadcast = createBroadcastStarter(db)
  const rewording = createRewording(db, tables)

  /** Replaces the partial answer of the turn, or inserts the answer if there is no partial answer, such as after a crash. */
  function* insertOrReword(
    batch: Batch,
    draft: PartialAnswerDraft,
    existingSeq: number | undefined,
    position: AnswerPosition,
  ): Operation<number> {
    const { response, withdrawal, blobs: newBlobs = [] } = draft.answer
    if (existingSeq === undefined || !response) return yield* insertResponse(batch, draft, position, tables)
    const content = { response, withdrawal, blobs: newBlobs }
    yield* rewording.reword(batch, { seq: existingSeq, message: position.message }, content, position.now)
    return existingSeq
  }

  const table: PartialAnswerTable = {
    *storeAnswer(batch, draft, answer, position) {
      const existingResponse = answer.isRevision ? yield* responses.findExisting(position.message) : undefined
      // A partial answer that was deleted during its turn stays deleted.
      if (existingResponse && existingResponse.retracted_at !== null) return existingResponse.seq
      if (existingResponse && !draft) yield* table.withdrawInterim(batch, position.message, position.now)
      const response = draft && (yield* insertOrReword(batch, draft, existingResponse?.seq, position))
      const { answeredMessage } = position
      const answerInMemory =
        draft && !existingResponse && answeredMessage ? { ...answeredMessage, response: draft.response } : undefined
      yield* table.queueDeliveries(batch, answer, { ...position, response, answerInMemory })
      return response
    },
    ...rewording,
    *withdrawInterim(batch, message, now) {
      const interimResponse = yield* responses.findInterim(message)
      if (!interimResponse) return
      yield* rewording.retract(batch, interimResponse, now)
      const { seq: response, thread_id: thread, agent, channel } = interimResponse
      yield* table.queueDeliveries(batch, interimResponse.withdrawal, {
        message,
        response,
        thread,
        agent,
        channel,
        now,
      })
    },
    *queueDeliveries(batch, planned, cause) {
      yield* deliveries.enqueue(batch, planned.deliveries, cause)
      for (const broadcastPlan of planned.broadcasts ?? []) {
        broadcast(broadcastPlan, cause)
        batch.readyWork.add('broadcasts')
      }
    },
  }
  return table
}

function* insertResponse(
  batch: Batch,
  { answer, response }: PartialAnswerDraft,
  position: AnswerPosition,
  { responses, blobs, threads }: Pick<PartialAnswerDeps, 'responses' | 'blobs' | 'threads'>,
): Operation<number> {
  const { message, thread, owner } = position
  const seq = yield* responses.insert(position, response)
  const { blobs: newBlobs = [], aliases = [] } = answer
  const blobBytes = newBlobs.length > 0 ? yield* blobs.insertAll(newBlobs, message) : 0
  if (owner !== undefined) addTaskBytes(batch, owner, Buffer.byteLength(response.content) + blobBytes)
  threads.addAnswerNames(thread, { message, id: response.id, aliases })
  return seq
}

export function draftPartialAnswer(answer: Answer, response: NormalizedResponse): PartialAnswerDraft {
  return { answer, response: draftResponse(response, answer) }
}
