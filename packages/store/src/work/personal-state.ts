import type { Answer, Turn } from '@postern/core'
import type { Sql } from '../engine/database.ts'
import { formatJson } from '../engine/database.ts'

/** What of an answer is about the person and not about the conversation. Synchronous: inside the write that commits it. */
export function createPersonalWriter(
  db: Sql,
): (turn: Turn, thread: number, answer: Pick<Answer, 'personState' | 'isGatewayReply'>) => void {
  // Who is another person meanwhile has lost what was shared.
  const writeState = db.prepare(
    `INSERT INTO person_states (agent, person, state) SELECT ?1, ?2, ?3
       WHERE EXISTS (SELECT 1 FROM person_links WHERE agent = ?1 AND (asker = ?2 OR target = ?2))
     ON CONFLICT (agent, person) DO UPDATE SET state = excluded.state`,
  )
  const setAside = db.prepare(
    "UPDATE messages SET scope = 'gateway_reply' WHERE thread_id = ? AND coalesce(answers, seq) = ? AND scope = 'conversation'",
  )
  return ({ agent, message }, thread, { personState, isGatewayReply }) => {
    if (personState) writeState.run(agent, personState.person, formatJson(personState.state))
    if (isGatewayReply) setAside.run(thread, message)
  }
}
