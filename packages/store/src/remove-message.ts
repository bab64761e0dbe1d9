import type { DatabaseSync } from 'node:sqlite'
import type { DeliveryRecord, MessageState } from '@postern/core'
import type { Batch } from './batch.ts'
import { addToTotal } from './batch.ts'
import { prepareQuery } from './database.ts'
import type { Tables } from './tables.ts'

/** Takes a message out with its answer and all it caused; whoever works on it is broken off. @returns its thread, unless there is none */
export type RemoveMessage = (batch: Batch, message: number, now: number) => number | undefined

export function createRemoveMessage(db: DatabaseSync, { forget }: Pick<Tables, 'forget'>): RemoveMessage {
  const find = prepareQuery<RemovedMessage>(
    db,
    'SELECT thread_id, id, object, agent, via FROM messages WHERE number = ?',
  )
  const endName = prepareQuery(db, 'DELETE FROM names WHERE name = ? AND agent = ? AND via = ? AND is_key = 0')
  const unlist = prepareQuery(db, 'UPDATE responses SET listed = 0 WHERE message = ? AND listed = 1')
  const endDeliveries = prepareQuery<{ state: DeliveryRecord['state'] }>(
    db,
    'DELETE FROM deliveries WHERE message = ? RETURNING state',
  )
  const endTurn = prepareQuery<{ state: MessageState }>(db, 'DELETE FROM turns WHERE message = ? RETURNING state')
  const endResponses = prepareQuery<{ seq: number; id: string }>(
    db,
    'DELETE FROM responses WHERE message = ? RETURNING seq, id',
  )
  const endBlobUses = prepareQuery(db, 'DELETE FROM blob_uses WHERE message = ?')
  const endDuplicates = prepareQuery(db, 'DELETE FROM duplicates WHERE message = ?')
  const endMessage = prepareQuery(db, 'DELETE FROM messages WHERE number = ?')
  const endEntry = createEntryRemoval(db)
  return (batch, message, now) => {
    const found = find.get(message)
    if (!found) return undefined
    // Ends its turn and its deliveries as if its author had taken it back: what waited behind them goes on.
    forget(batch, message, now)
    unlist.run(message)
    for (const { state } of endDeliveries.all(message)) addToTotal(batch, `deliveries.${state}`, -1)
    addToTotal(batch, `messages.${endTurn.get(message)?.state ?? 'ignored'}`, -1)
    const { id, object, agent, via } = found
    const responses = endResponses.all(message)
    for (const { seq } of responses) endEntry(seq)
    for (const name of [id, object, ...responses.map(response => response.id)]) {
      if (name !== null) endName.run(name, agent, via)
    }
    for (const end of [endBlobUses, endDuplicates, endMessage]) end.run(message)
    endEntry(message)
    return found.thread_id
  }
}

interface RemovedMessage {
  readonly thread_id: number
  readonly id: string
  /** The author's id of what was said. */
  readonly object: string | null
  readonly agent: string
  readonly via: string
}

/** The newest number is kept, empty, so that it is not given again. */
function createEntryRemoval(db: DatabaseSync): (seq: number) => void {
  const blank = prepareQuery(
    db,
    `UPDATE entries SET content = '[]', author = '{"address":"@forgotten@forgotten.invalid"}', native_id = NULL,
       scope = 'forgotten' WHERE seq = ? AND seq = (SELECT max(seq) FROM entries)`,
  )
  const end = prepareQuery(db, 'DELETE FROM entries WHERE seq = ?')
  return seq => {
    if (blank.run(seq).changes === 0) end.run(seq)
  }
}
