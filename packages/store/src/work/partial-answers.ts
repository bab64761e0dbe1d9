import type { Answer, Blob, NormalizedResponse, Planned } from '@postern/core'
import type { BlobTable } from '../blobs/table.ts'
import type { ThreadTable } from '../conversations/threads.ts'
import type { DeliveryTable, NewDelivery, OpenDelivery } from '../deliveries/table.ts'
import type { Batch, Database } from '../engine/database.ts'
import { addTaskBytes, formatJson, prepareQuery } from '../engine/database.ts'
import type { PartialAnswerPosition, ResponseDraft, ResponsePlace, ResponseTable } from '../messages/responses.ts'
import { draftResponse } from '../messages/responses.ts'
import { createTaskShares } from '../tasks/table.ts'
import type { NoteTable } from '../turns/note-table.ts'

/** A response as its columns, made before the transaction. */
export interface PartialAnswerDraft {
  readonly answer: Answer
  readonly response: ResponseDraft
}

/** What an answer is replaced with. */
export interface Words {
  readonly response: NormalizedResponse
  readonly blobs?: readonly Blob[] | undefined
}

/** What agents say, revise and take back, with all it sets out on its way. Synchronous: inside a write. */
export interface PartialAnswerTable {
  /** @returns the response's seq, if there is one */
  say(
    batch: Batch,
    draft: PartialAnswerDraft | undefined,
    answer: Answer,
    place: PartialAnswerPosition,
  ): number | undefined
  /** Other words for a response; nothing is sent. */
  reword(batch: Batch, place: Pick<ResponsePlace, 'seq' | 'message'>, words: Words, now: number): void
  /** The content is gone, what is still to be delivered of it dies. */
  retract(batch: Batch, place: Pick<ResponsePlace, 'seq' | 'message'>, now: number): void
  send(batch: Batch, planned: Planned, cause: NewDelivery): void
}

interface PartialAnswerDeps {
  readonly notes: NoteTable
  readonly responses: ResponseTable
  readonly threads: ThreadTable
  readonly blobs: BlobTable
  readonly deliveries: DeliveryTable
}

export function createPartialAnswerTable(db: Database, tables: PartialAnswerDeps): PartialAnswerTable {
  const { notes, responses, blobs, deliveries } = tables
  const broadcast = createBroadcastStarter(db)
  const bookChange = createTaskShares(db)
  const stopSending = createSendingStop(db, deliveries)

  /** What the same turn said meanwhile gives way to this; a crash may have kept it from being said. */
  function insertOrReword(
    batch: Batch,
    draft: PartialAnswerDraft,
    given: number | undefined,
    place: PartialAnswerPosition,
  ): number {
    const { response, blobs: newBlobs = [] } = draft.answer
    if (given === undefined || !response) return insertResponse(batch, draft, place, tables)
    table.reword(batch, { seq: given, message: place.message }, { response, blobs: newBlobs }, place.now)
    return given
  }

  const table: PartialAnswerTable = {
    say(batch, draft, answer, place) {
      const given = answer.isRevision ? responses.findGiven(place.message) : undefined
      // Taken back while its turn went on: it stays so.
      if (given && given.retracted_at !== null) return given.seq
      const response = draft && insertOrReword(batch, draft, given?.seq, place)
      table.send(batch, answer, { ...place, response })
      return response
    },
    reword(batch, { seq, message }, { response, blobs: newBlobs = [] }, now) {
      const { response: draft } = draftPartialAnswer({ response, deliveries: [] }, response)
      bookChange(batch, message, () => {
        responses.revise(seq, draft, now)
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
    send(batch, planned, cause) {
      deliveries.queue(batch, planned.deliveries, cause)
      for (const each of planned.broadcasts ?? []) {
        broadcast(each, cause)
        batch.readyWork.add('broadcasts')
      }
    },
  }
  return table
}

function insertResponse(
  batch: Batch,
  { answer, response }: PartialAnswerDraft,
  place: PartialAnswerPosition,
  { responses, blobs, threads }: Pick<PartialAnswerDeps, 'responses' | 'blobs' | 'threads'>,
): number {
  const { message, thread, owner } = place
  const seq = responses.insert(place, response)
  const blobBytes = blobs.keepAll(answer.blobs ?? [], message)
  if (owner !== undefined) addTaskBytes(batch, owner, Buffer.byteLength(response.content) + blobBytes)
  threads.addAnswerNames(thread, { message, id: response.id, aliases: answer.aliases ?? [] })
  return seq
}

/** What is still to be delivered of a response dies. */
function createSendingStop(db: Database, deliveries: DeliveryTable) {
  const findOpen = prepareQuery<OpenDelivery>(
    db,
    'SELECT number, thread_id, destination, state FROM deliveries WHERE response_seq = ? AND ended_at IS NULL',
  )
  const endBroadcasts = prepareQuery(
    db,
    'UPDATE broadcasts SET due_at = NULL, lease_owner = NULL, ended_at = ? WHERE response_seq = ? AND due_at IS NOT NULL',
  )
  // Of what goes to many each delivery keeps the name alone.
  const forgetWires = prepareQuery(
    db,
    'UPDATE deliveries SET wire = NULL WHERE message = ? AND response_seq = ? AND broadcast IS NULL AND wire IS NOT NULL',
  )
  return (batch: Batch, { seq, message }: Pick<ResponsePlace, 'seq' | 'message'>, now: number): void => {
    for (const open of findOpen.all(seq)) deliveries.giveUp(batch, open, 'the agent has taken it back', now)
    endBroadcasts.run(now, seq)
    forgetWires.run(message, seq)
  }
}

export function draftPartialAnswer(answer: Answer, response: NormalizedResponse): PartialAnswerDraft {
  return {
    answer,
    response: draftResponse(response, answer.rendering, answer.isListed === true),
  }
}

function createBroadcastStarter(db: Database) {
  const insert = prepareQuery(
    db,
    `INSERT INTO broadcasts (message, response_seq, thread_id, agent, channel, relation, target, until_id, due_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, (SELECT coalesce(max(id), 0) FROM relations
       WHERE agent = ?4 AND channel = ?5 AND relation = ?6), ?8)`,
  )
  return (
    { relation, target }: NonNullable<Planned['broadcasts']>[number],
    { message, response, thread, agent, channel, now }: NewDelivery,
  ) => insert.run(message, response ?? null, thread, agent, channel, relation, formatJson(target), now)
}
