// Lists commands to the gateway and its replies for a transcript.
import type { Operation } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'
import type { BoundConversation } from './bound-conversation.ts'
import type { EntryPosition } from './entry-position.ts'

/** Lists the first commands to the gateway and its replies that a thread does not have yet. Chats show them, but no agent sees them. */
type ListGatewayReplies = (bound: BoundConversation, limit: number) => Operation<readonly EntryPosition[]>

export function createGatewayReplyFinder(db: Sql): ListGatewayReplies {
  const list = db.prepare<EntryPosition>(
    `SELECT seq, coalesce(answers, seq) AS position FROM messages WHERE scope = 'gateway_reply' AND thread_id = ?1
       AND coalesce(answers, seq) >= ?2 AND EXISTS (SELECT 1 FROM transcript_threads WHERE id = ?3 AND substr(owner, 1, 4) = 'web:')
       AND NOT EXISTS (SELECT 1 FROM transcript_entries x WHERE x.thread = ?3 AND x.store_seq = messages.seq)
     ORDER BY coalesce(answers, seq), seq LIMIT +?4`,
  )
  return ({ store_thread, position, thread }, limit) => list.all(store_thread, position, thread, limit)
}
