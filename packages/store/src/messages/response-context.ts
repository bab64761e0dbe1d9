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
    `SELECT r.seq, r.message, e.thread_id FROM thread_aliases n JOIN responses r ON r.message = n.message AND r.id = n.name
       JOIN entries e ON e.seq = r.seq WHERE n.name = ?`,
  )
  const listLater = prepareQuery<{ number: number; answers: string | null }>(
    db,
    `SELECT m.number, json_extract(m.envelope, '$.in_reply_to') AS answers
     FROM entries e JOIN messages m ON m.number = e.seq
     WHERE e.thread_id = ? AND e.scope = 'conversation' AND coalesce(e.answers, e.seq) > ?
       AND m.forgotten_at IS NULL AND coalesce(json_extract(m.envelope, '$.kind'), 'message') = 'message'
     ORDER BY coalesce(e.answers, e.seq) LIMIT ${maxSought}`,
  )
  const readCurrent = createCurrentReader(db, readMessage)
  return {
    async readResponseContext(id, { names, limit }) {
      const place = findPlace.get(id)
      if (!place) return { replies: [] }
      const replies = listLater
        .all(place.thread_id, place.message)
        .filter(({ answers }) => answers !== null && names.includes(answers))
        .slice(0, limit)
      return {
        answered: readCurrent(place.message),
        replies: replies.flatMap(({ number }) => readCurrent(number) ?? []),
      }
    },
  }
}

/** An edit is a message of its own, known by the same author and object. */
function createCurrentReader(db: Database, readMessage: ReadMessage): (number: number) => CurrentMessage | undefined {
  const findLatest = prepareQuery<{ number: number }>(
    db,
    `SELECT l.number FROM messages m JOIN messages l ON l.author = m.author AND l.object = m.object AND l.channel = m.channel
     WHERE m.number = ? AND l.agent = m.agent AND l.forgotten_at IS NULL ORDER BY l.number DESC LIMIT 1`,
  )
  const findAnswer = prepareQuery<{ id: string }>(db, 'SELECT id FROM responses WHERE message = ? AND is_listed = 1')
  return number => {
    const latest = findLatest.get(number)
    if (!latest) return undefined
    const { content: message, target } = readMessage(latest.number)
    const response = findAnswer.get(number)?.id
    return { message, target, ...(response !== undefined && { response }) }
  }
}
