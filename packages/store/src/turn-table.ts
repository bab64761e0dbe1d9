import type { DatabaseSync } from 'node:sqlite'
import type { Batch } from './batch.ts'
import { addToTotal } from './batch.ts'
import { prepareQuery } from './database.ts'

export interface NewTurn {
  readonly message: number
  readonly thread: number
  readonly task: number | undefined
  readonly now: number
}

/** The order of turns within a thread: the first open one is ready, the others wait for it. */
export interface TurnTable {
  queue(batch: Batch, turn: NewTurn): void
  /** To be called when a turn has ended: the next of its thread becomes ready. */
  promoteNext(batch: Batch, thread: number, now: number): void
}

export function createTurnTable(db: DatabaseSync): TurnTable {
  const insert = prepareQuery(
    db,
    `INSERT INTO turns (message, thread_id, task_id, state, due_at) VALUES (?1, ?2, ?3, 'received',
       CASE WHEN EXISTS (SELECT 1 FROM turns WHERE thread_id = ?2 AND ended_at IS NULL) THEN NULL ELSE ?4 END)`,
  )
  const promote = prepareQuery(
    db,
    `UPDATE turns SET due_at = ?1 WHERE due_at IS NULL AND message =
       (SELECT message FROM turns WHERE thread_id = ?2 AND ended_at IS NULL ORDER BY message LIMIT 1)`,
  )
  return {
    queue(batch, { message, thread, task, now }) {
      insert.run(message, thread, task ?? null, now)
      addToTotal(batch, 'messages.received')
      batch.hasReadyWork = true
    },
    promoteNext(batch, thread, now) {
      if (promote.run(now, thread).changes > 0) batch.hasReadyWork = true
    },
  }
}
