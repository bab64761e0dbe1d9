// Finds the messages that contain an object of an author, such as a post.
import type { MessageKind } from '@postern/message'
import type { AuthoredMessage, WithdrawalStore } from '@postern/pipeline'
import { parseJson } from '../sql/json-columns.ts'
import type { Sql } from '../sql/sql.ts'

interface AuthoredRow {
  readonly number: number
  readonly id: string
  readonly agent: string
  readonly kind: MessageKind | null
  readonly key: string
  readonly scope: string
  readonly target: string
  readonly kept: number
}

/** Prepares the search for stored messages with an object that its author may delete. */
export function createAuthoredFinder(db: Sql): WithdrawalStore['findAuthored'] {
  const find = db.prepare<AuthoredRow>(
    `SELECT m.seq AS number, m.native_id AS id, m.agent, json_extract(m.envelope, '$.kind') AS kind, t.key, t.scope, m.target,
       NOT EXISTS (SELECT 1 FROM turns WHERE message = m.seq) AS kept
     FROM messages m JOIN threads t ON t.id = m.thread_id
     WHERE m.forgotten_at IS NULL AND m.principal = ? AND m.object = ? AND m.channel IN (?) LIMIT 1000`,
  )
  return (via, { author, object }) =>
    db.read(function* () {
      return (yield* find.all(author, object, via)).map(
        ({ number, id, agent, kind, key, scope, target, kept }): AuthoredMessage => ({
          author,
          object,
          agent,
          message: number,
          id,
          kind: kind ?? 'message',
          thread_source: key,
          scope,
          target: parseJson(target),
          isKept: kept === 1,
        }),
      )
    })
}
