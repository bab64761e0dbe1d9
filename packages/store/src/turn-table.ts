import type { DatabaseSync } from 'node:sqlite'
import type { MessageState } from '@postern/core'
import type { Batch } from './batch.ts'
import { addToTotal, moveTotal } from './batch.ts'
import { prepareQuery } from './database.ts'

export interface NewTurn {
  readonly message: number
  readonly agent: string
  readonly thread: number
  readonly task: number | undefined
  readonly now: number
}

/** The order of turns within a thread: the first open one is ready, the others wait for it. */
export interface TurnTable {
  queue(batch: Batch, turn: NewTurn): void
  /** Of an occasion, on which the agent has spoken already. */
  noteAnswered(batch: Batch, turn: NewTurn): void
  /** To be called when a turn has ended: the next of its thread becomes ready. */
  promoteNext(batch: Batch, thread: number, now: number): void
  /** Ends an open turn, whoever holds it, as failed; the next of its thread is still to be promoted. */
  cancel(batch: Batch, turn: OpenTurn, now: number): void
  /** Ends the turn of a message, if it is open; its thread goes on. */
  cancelOf(batch: Batch, message: number, now: number): void
}

export interface OpenTurn {
  readonly message: number
  readonly thread_id: number
  readonly state: MessageState
}

export function createTurnTable(db: DatabaseSync): TurnTable {
  const insert = prepareQuery(
    db,
    `INSERT INTO turns (message, thread_id, task_id, agent, state, due_at) VALUES (?1, ?2, ?3, ?5, 'received',
       CASE WHEN EXISTS (SELECT 1 FROM turns WHERE thread_id = ?2 AND ended_at IS NULL) THEN NULL ELSE ?4 END)`,
  )
  const insertAnswered = prepareQuery(
    db,
    "INSERT INTO turns (message, thread_id, agent, state, ended_at) VALUES (?, ?, ?, 'answered', ?)",
  )
  const promote = prepareQuery(
    db,
    `UPDATE turns SET due_at = ?1 WHERE due_at IS NULL AND message =
       (SELECT message FROM turns WHERE thread_id = ?2 AND ended_at IS NULL ORDER BY message LIMIT 1)`,
  )
  const findOpen = prepareQuery<OpenTurn>(
    db,
    'SELECT message, thread_id, state FROM turns WHERE message = ? AND ended_at IS NULL',
  )
  const end = prepareQuery(
    db,
    `UPDATE turns SET state = 'failed', error = 'canceled', due_at = NULL, holder = NULL, ended_at = ?
     WHERE message = ?`,
  )
  const promoteNext: TurnTable['promoteNext'] = (batch, thread, now) => {
    if (promote.run(now, thread).changes > 0) batch.hasReadyWork = true
  }
  const cancel: TurnTable['cancel'] = (batch, { message, state }, now) => {
    end.run(now, message)
    moveTotal(batch, `messages.${state}`, 'messages.failed')
    batch.notices.push({ topic: `message:${message}`, payload: { kind: 'canceled' } })
  }
  return {
    queue(batch, { message, agent, thread, task, now }) {
      insert.run(message, thread, task ?? null, now, agent)
      addToTotal(batch, 'messages.received')
      batch.hasReadyWork = true
    },
    noteAnswered(batch, { message, agent, thread, now }) {
      insertAnswered.run(message, thread, agent, now)
      addToTotal(batch, 'messages.answered')
    },
    promoteNext,
    cancel,
    cancelOf(batch, message, now) {
      const turn = findOpen.get(message)
      if (!turn) return
      cancel(batch, turn, now)
      promoteNext(batch, turn.thread_id, now)
    },
  }
}
