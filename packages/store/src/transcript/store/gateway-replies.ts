import type { Sql } from '../../engine/database.ts'
import type { SaidPlace, StoreBound } from './place.ts'

/**
 * What the gateway was asked and answered itself in a conversation, the first of what a thread does not have yet: who chats reads it again, no
 * agent does. Synchronous.
 */
type ListGatewayReplies = (bound: StoreBound, most: number) => readonly SaidPlace[]

export function createGatewayReplyFinder(db: Sql): ListGatewayReplies {
  const list = db.prepare<SaidPlace>(
    `SELECT seq, coalesce(answers, seq) AS position FROM messages WHERE scope = 'gateway_reply' AND thread_id = ?1
       AND coalesce(answers, seq) >= ?2 AND EXISTS (SELECT 1 FROM transcript_threads WHERE id = ?3 AND substr(owner, 1, 4) = 'web:')
       AND NOT EXISTS (SELECT 1 FROM transcript_entries x WHERE x.thread = ?3 AND x.store_seq = messages.seq)
     ORDER BY coalesce(answers, seq), seq LIMIT +?4`,
  )
  return ({ store_thread, position, thread }, most) => list.all(store_thread, position, thread, most)
}
