// Stores the state of an agent for a person.
import type { Answer, ChangedPersonState, Turn } from '@postern/pipeline'
import { formatJson, parseJson } from '../../sql/json-columns.ts'
import type { Operation } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'
import type { Batch } from '../../transaction/batch.ts'
import { personConflict } from '../../transaction/conflict-keys.ts'

/** Writes the members of an answer that concern the person and not the conversation. The members are operations of the commit. */
export interface PersonalWriter {
  /** Returns true if the stored state is still the state from which the agent computed the new one. It also locks the stored state. */
  isCurrent(batch: Batch, turn: Turn, changed: ChangedPersonState): Operation<boolean>
  write(turn: Turn, thread: number, answer: Pick<Answer, 'personState' | 'isGatewayReply'>): void
}

export function createPersonalWriter(db: Sql): PersonalWriter {
  const findState = db.prepare<{ state: string }>('SELECT state FROM person_states WHERE agent = ? AND person = ?')
  // If the links of a sender have ended in the meantime, their shared state was deleted.
  const writeState = db.prepare(
    `INSERT INTO person_states (agent, person, state) SELECT ?1, ?2, ?3
       WHERE EXISTS (SELECT 1 FROM person_links WHERE agent = ?1 AND (asker = ?2 OR target = ?2))
     ON CONFLICT (agent, person) DO UPDATE SET state = excluded.state`,
  )
  const markGatewayReply = db.prepare(
    "UPDATE messages SET scope = 'gateway_reply' WHERE thread_id = ? AND coalesce(answers, seq) = ? AND scope = 'conversation'",
  )
  return {
    *isCurrent(batch, { agent }, { person, replaces }) {
      if (!replaces) return true
      yield* batch.reserve(personConflict(agent, person))
      const row = yield* findState.get(agent, person)
      return formatJson(row && parseJson(row.state)) === formatJson(replaces.state)
    },
    write({ agent, message }, thread, { personState, isGatewayReply }) {
      if (personState) writeState.run(agent, personState.person, formatJson(personState.state))
      if (isGatewayReply) markGatewayReply.run(thread, message)
    },
  }
}
