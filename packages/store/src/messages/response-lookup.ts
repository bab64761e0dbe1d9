// Reads responses with the messages that they answer.

import { isoTime } from '@postern/message'
import type { LookupStore, MessageView, ResponseRecord } from '@postern/pipeline'
import { prepareAgentTotal } from '../peers/agent-totals.ts'
import type { Operation } from '../sql/operation.ts'
import { flatMapInOrder, mapInOrder } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { ReadMessage } from './read-message.ts'
import type { ResponseRow } from './responses.ts'
import { fromResponseName, readResponse, responseColumns, selectResponse } from './responses.ts'

export function createResponseLookup(
  db: Sql,
  readMessage: ReadMessage,
): Pick<LookupStore, 'findResponse' | 'findAnswer' | 'listResponses' | 'countListed'> {
  const findById = db.prepare<ResponseRow>(`SELECT ${responseColumns} ${fromResponseName}`)
  const findByMessage = db.prepare<ResponseRow>(
    `${selectResponse} AND r.answers = coalesce((SELECT t.merged_into FROM turns t WHERE t.message = ?1), ?1)`,
  )
  const newestCondition = 'r.agent = ? AND r.channel IN (?) AND r.seq < ? ORDER BY r.seq DESC LIMIT +?'
  const listNewest = db.prepare<ResponseRow>(`${selectResponse} AND ${newestCondition}`)
  const listListed = db.prepare<ResponseRow>(`${selectResponse} AND r.is_listed = 1 AND ${newestCondition}`)
  const countResponses = prepareAgentTotal(db)
  function* toResponseRecord(row: ResponseRow): Operation<ResponseRecord> {
    const { content, target, agent, via } = yield* readMessage(row.message)
    return { ...readResponse(row), message: content, target, agent, via, ...readChanges(row) }
  }
  return {
    findResponse(id) {
      return db.read(function* () {
        const row = yield* findById.get(id)
        return row && (yield* toResponseRecord(row))
      })
    },
    findAnswer(message) {
      return db.read(function* () {
        const row = yield* findByMessage.get(message)
        return row && (yield* toResponseRecord(row))
      })
    },
    listResponses: ({ agent, via, isListed, limit, after = Number.MAX_SAFE_INTEGER }) =>
      db.read(function* () {
        return yield* mapInOrder(
          yield* (isListed ? listListed : listNewest).all(agent, via, after, limit),
          function* (row) {
            return { position: row.seq, ...(yield* toResponseRecord(row)) }
          },
        )
      }),
    countListed: ({ agent, via }) => db.read(() => countResponses(agent, via, 'listed')),
  }
}

function readChanges({ edited_at, retracted_at }: ResponseRow): Pick<ResponseRecord, 'editedAt' | 'retractedAt'> {
  return {
    ...(edited_at !== null && { editedAt: isoTime(edited_at) }),
    ...(retracted_at !== null && { retractedAt: isoTime(retracted_at) }),
  }
}

/** The maximum number of messages that a search for replies reads, because a public thread may be very long. */
const maxSearchedMessages = 500

interface PositionRow {
  readonly seq: number
  readonly message: number
  readonly thread_id: number
}

/** Prepares the query for the message that a response answers, and for the replies to the response. */
export function createContextLookup(db: Sql, readMessage: ReadMessage): Pick<LookupStore, 'readResponseContext'> {
  const findPosition = db.prepare<PositionRow>(`SELECT r.seq, r.answers AS message, r.thread_id ${fromResponseName}`)
  const listLater = db.prepare<{ seq: number; reply_to: string | null }>(
    `SELECT m.seq, json_extract(m.envelope, '$.in_reply_to') AS reply_to FROM messages m
     WHERE m.thread_id = ? AND m.scope = 'conversation' AND m.kind = 'message' AND coalesce(m.answers, m.seq) > ?
       AND m.forgotten_at IS NULL AND coalesce(json_extract(m.envelope, '$.kind'), 'message') = 'message'
     ORDER BY coalesce(m.answers, m.seq) LIMIT ${maxSearchedMessages}`,
  )
  const readCurrent = createCurrentReader(db, readMessage)
  return {
    readResponseContext(id, { names, limit }) {
      return db.read(function* () {
        const position = yield* findPosition.get(id)
        if (!position) return { replies: [] }
        const replies = (yield* listLater.all(position.thread_id, position.message))
          .filter(({ reply_to }) => reply_to !== null && names.includes(reply_to))
          .slice(0, limit)
        return {
          answered: yield* readCurrent(position.message),
          replies: yield* flatMapInOrder(replies, function* ({ seq }) {
            return (yield* readCurrent(seq)) ?? []
          }),
        }
      })
    },
  }
}

/** Prepares the query for the newest version of a message. An edit is a separate message with the same author and object. */
function createCurrentReader(
  db: Sql,
  readMessage: ReadMessage,
): (number: number) => Operation<MessageView | undefined> {
  const findLatest = db.prepare<{ seq: number }>(
    `SELECT l.seq FROM messages m JOIN messages l ON l.principal = m.principal AND l.object = m.object AND l.channel = m.channel
     WHERE m.seq = ? AND l.agent = m.agent AND l.forgotten_at IS NULL AND l.is_superseded = 0
     ORDER BY l.seq DESC LIMIT 1`,
  )
  const findAnswer = db.prepare<{ id: string }>(
    "SELECT native_id AS id FROM messages WHERE kind = 'response' AND answers = ? AND is_listed = 1",
  )
  return function* (number) {
    const latestRow = yield* findLatest.get(number)
    if (!latestRow) return undefined
    const { content: message, target } = yield* readMessage(latestRow.seq)
    const response = (yield* findAnswer.get(number))?.id
    return { message, target, ...(response !== undefined && { response }) }
  }
}
