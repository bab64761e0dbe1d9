import type { CurrentMessage, LookupStore } from '@postern/core'
import type { Database } from '../engine/database.ts'
import { prepareQuery } from '../engine/database.ts'
import type { ReadMessage } from './reader.ts'

/** Messages that are looked through for replies: a public thread has no end. */
const maxSought = 500

interface PlaceRow {
  readonly seq: number
  readonly message: number
  readonly thread_id: number
}

/** What stands before and behind a response in its thread. */
export function createContextLookup(db: Database, readMessage: ReadMessage): Pick<LookupStore, 'readResponseContext'> {
  const findPlace = prepareQuery<PlaceRow>(
    db,
    `SELECT r.seq, r.answers AS message, r.thread_id FROM thread_aliases n
       JOIN messages r ON r.kind = 'response' AND r.answers = n.message AND r.native_id = n.name WHERE n.name = ?`,
  )
  const listLater = prepareQuery<{ seq: number; reply_to: string | null }>(
    db,
    `SELECT m.seq, json_extract(m.envelope, '$.in_reply_to') AS reply_to FROM messages m
     WHERE m.thread_id = ? AND m.scope = 'conversation' AND m.kind = 'message' AND coalesce(m.answers, m.seq) > ?
       AND m.forgotten_at IS NULL AND coalesce(json_extract(m.envelope, '$.kind'), 'message') = 'message'
     ORDER BY coalesce(m.answers, m.seq) LIMIT ${maxSought}`,
  )
  const readCurrent = createCurrentReader(db, readMessage)
  return {
    async readResponseContext(id, { names, limit }) {
      const place = findPlace.get(id)
      if (!place) return { replies: [] }
      const replies = listLater
        .all(place.thread_id, place.message)
        .filter(({ reply_to }) => reply_to !== null && names.includes(reply_to))
        .slice(0, limit)
      return {
        answered: readCurrent(place.message),
        replies: replies.flatMap(({ seq }) => readCurrent(seq) ?? []),
      }
    },
  }
}

/** An edit is a message of its own, known by the same author and object. */
function createCurrentReader(db: Database, readMessage: ReadMessage): (number: number) => CurrentMessage | undefined {
  const findLatest = prepareQuery<{ seq: number }>(
    db,
    `SELECT l.seq FROM messages m JOIN messages l ON l.principal = m.principal AND l.object = m.object AND l.channel = m.channel
     WHERE m.seq = ? AND l.agent = m.agent AND l.forgotten_at IS NULL ORDER BY l.seq DESC LIMIT 1`,
  )
  const findAnswer = prepareQuery<{ id: string }>(
    db,
    "SELECT native_id AS id FROM messages WHERE kind = 'response' AND answers = ? AND is_listed = 1",
  )
  return number => {
    const latest = findLatest.get(number)
    if (!latest) return undefined
    const { content: message, target } = readMessage(latest.seq)
    const response = findAnswer.get(number)?.id
    return { message, target, ...(response !== undefined && { response }) }
  }
}
