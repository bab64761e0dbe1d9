import type { Batch } from './batch.ts'
import type { Database } from './database.ts'
import { prepareQuery } from './database.ts'
import { createRowRemoval } from './message-rows.ts'
import type { Tables } from './tables.ts'

/** Takes a message out with its answer and all it caused; whoever works on it is broken off. @returns its thread, unless there is none */
export type RemoveMessage = (batch: Batch, message: number, now: number) => number | undefined

export function createRemoveMessage(db: Database, { forget, blobs }: Pick<Tables, 'forget' | 'blobs'>): RemoveMessage {
  const find = prepareQuery<RemovedMessage>(
    db,
    `SELECT m.thread_id, m.id, m.object, m.agent, m.via, m.author, t.scope FROM messages m JOIN threads t ON t.id = m.thread_id
     WHERE m.number = ?`,
  )
  const endName = prepareQuery(
    db,
    'DELETE FROM names WHERE name = ? AND agent = ? AND via = ? AND scope = ? AND is_key = 0',
  )
  const unlist = prepareQuery(db, 'UPDATE responses SET listed = 0 WHERE message = ? AND listed = 1')
  const endRows = createRowRemoval(db, { blobs })
  const endEntry = createEntryRemoval(db)
  return (batch, message, now) => {
    const found = find.get(message)
    if (!found) return undefined
    // Ends its turn and its deliveries as if its author had taken it back: what waited behind them goes on.
    forget(batch, message, now)
    unlist.run(message)
    const { id, object, agent, via, author, scope } = found
    const { responses } = endRows(batch, message)
    for (const { seq } of responses) endEntry(seq)
    for (const name of [id, object, ...responses.map(response => response.id)]) {
      if (name !== null) endName.run(name, agent, via, scope)
    }
    // What came from a chat has its names there.
    if (author !== null) endName.run(id, agent, 'web', author)
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
  readonly author: string | null
  /** Of its thread: what its ids mean elsewhere is not his. */
  readonly scope: string
}

/** The newest number is kept, empty, so that it is not given again. */
export function createEntryRemoval(db: Database): (seq: number) => void {
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
