// Reads the running totals of an agent on a channel.
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'

/** Prepares the query for a running total of an agent on a channel. */
export function prepareAgentTotal(db: Sql): (agent: string, via: string, name: string) => Operation<number> {
  const find = db.prepare<{ value: number | null }>(
    'SELECT sum(value) AS value FROM agent_totals WHERE agent = ? AND channel = ? AND name = ?',
  )
  return function* (agent, via, name) {
    return (yield* find.get(agent, via, name))?.value ?? 0
  }
}
