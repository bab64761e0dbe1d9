import type { MessageState, TurnAborted } from '@postern/core'
import { maxAborts } from '@postern/core'
import type { Batch, Sql } from '../engine/database.ts'
import { moveTotal, moveTotals, noteChange } from '../engine/database.ts'
import type { Interrupt, TurnQueue } from './queue.ts'
import { createTurnQueue } from './queue.ts'

/** The order of turns within a thread: the first open one is ready, the others wait for it. */
export interface TurnTable extends TurnQueue {
  /** To be called when a turn has ended: the next of its thread becomes ready. */
  promoteNext(batch: Batch, thread: number, now: number): void
  readonly cancel: CancelTurn
  /** Ends the turn of a message, if it is open; its thread goes on. What was to be answered together with it still is. */
  cancelOf(batch: Batch, message: number, now: number, reason?: EndingReason): void
  /** The words of an open turn have changed: whoever runs it is broken off, and it is taken up again at once. */
  restart(batch: Batch, turn: OpenTurn, now: number): void
  /** A turn that nobody runs speaks for another from now on; what it was to be answered together with comes by itself. */
  setApart(batch: Batch, turn: OpenTurn, to: { readonly speaker: string | null; readonly now: number }): void
}

const endings: Readonly<Record<EndingReason, { readonly state: MessageState; readonly error: string }>> = {
  canceled: { state: 'failed', error: 'canceled' },
  deleted: { state: 'failed', error: 'canceled' },
  interrupted: { state: 'ignored', error: 'interrupted by a newer message' },
}

export function createTurnTable(db: Sql): TurnTable {
  const findOpen = db.prepare<OpenTurn>(`SELECT ${openTurnColumns} FROM turns WHERE message = ? AND ended_at IS NULL`)
  const end = db.prepare(
    `UPDATE turns SET state = ?, error = ?, due_at = NULL, lease_owner = NULL, merged_into = NULL, ended_at = ? WHERE message = ?`,
  )
  const dissolve = db.prepare(
    "UPDATE turns SET merged_into = NULL, state = 'received' WHERE merged_into = ? AND ended_at IS NULL RETURNING message",
  )
  const respeak = db.prepare('UPDATE turns SET speaker = ? WHERE message = ?')
  const putBack = db.prepare('UPDATE turns SET due_at = NULL WHERE message = ? AND lease_owner IS NULL')
  const takeAway = createTakingAway(db)
  const promoteNext = createPromotion(db)

  const cancel: CancelTurn = (batch, { message, state }, now, reason = 'canceled') => {
    const ending = endings[reason]
    for (const _ of dissolve.all(message)) moveTotal(batch, `messages.${state}`, 'messages.received')
    end.run(ending.state, ending.error, now, message)
    moveTotal(batch, `messages.${state}`, `messages.${ending.state}`)
    noteChange(batch, 'turn', message)
    batch.notices.push({ topic: `message:${message}`, payload: { kind: reason } })
  }
  const interrupt = createInterruption(db, cancel)
  const restart: TurnTable['restart'] = (batch, { message, merged_into }, now) =>
    takeAway(batch, merged_into ?? message, now)

  return {
    ...createTurnQueue(db, { interrupt, promoteNext }),
    promoteNext,
    cancel,
    cancelOf(batch, message, now, reason) {
      const turn = findOpen.get(message)
      if (!turn) return
      cancel(batch, turn, now, reason)
      if (turn.merged_into !== null) takeAway(batch, turn.merged_into, now)
      promoteNext(batch, turn.thread_id, now)
    },
    restart,
    setApart(batch, { message, thread_id, merged_into }, { speaker, now }) {
      const leader = merged_into ?? message
      respeak.run(speaker, message)
      if (dissolve.all(leader).length === 0) return
      putBack.run(leader)
      promoteNext(batch, thread_id, now)
    },
  }
}

function createPromotion(db: Sql): TurnTable['promoteNext'] {
  const promote = db.prepare(
    `UPDATE turns SET due_at = max(?1, coalesce(ready_at, 0)) WHERE due_at IS NULL AND message =
       (SELECT message FROM turns WHERE thread_id = ?2 AND ended_at IS NULL AND merged_into IS NULL ORDER BY message LIMIT 1)`,
  )
  return (batch, thread, now) => {
    if (promote.run(now, thread).changes > 0) batch.readyWork.add('turns')
  }
}

/** Takes a turn away from whoever runs it. What it answers has changed; who answers it now begins anew. */
function createTakingAway(db: Sql): (batch: Batch, leader: number, now: number) => void {
  const change = db.prepare<{ lease_owner: string | null }>(
    'UPDATE turns SET revision = revision + 1 WHERE message = ? AND ended_at IS NULL RETURNING lease_owner',
  )
  const free = db.prepare(
    `UPDATE turns SET state = 'received', due_at = ?1, lease_token = lease_token + 1, attempt = attempt - 1, crash_count = 0, lease_owner = NULL,
       abort_count = abort_count + 1 WHERE message = ?2`,
  )
  const freeMerged = db.prepare(
    "UPDATE turns SET state = 'received' WHERE merged_into = ? AND ended_at IS NULL AND state = 'working'",
  )
  return (batch, leader, now) => {
    if (!change.get(leader)?.lease_owner) return
    free.run(now, leader)
    moveTotals(batch, 1 + freeMerged.run(leader).changes, ['messages.working', 'messages.received'])
    noteChange(batch, 'turn', leader)
    batch.notices.push({ topic: `message:${leader}`, payload: { kind: 'edited' } })
    batch.readyWork.add('turns')
  }
}

/** Why a turn ends without an answer. */
type EndingReason = Exclude<TurnAborted['kind'], 'shutting_down' | 'edited'>

export interface OpenTurn {
  readonly message: number
  readonly thread_id: number
  readonly state: MessageState
  readonly merged_into: number | null
}

export const openTurnColumns = 'message, thread_id, state, merged_into'

/** Ends an open turn, whoever holds it; the next of its thread is still to be promoted. */
type CancelTurn = (batch: Batch, turn: OpenTurn, now: number, reason?: EndingReason) => void

interface Interruptible extends OpenTurn {
  readonly lease_owner: string | null
  readonly abort_count: number
}

function createInterruption(db: Sql, cancel: CancelTurn): Interrupt {
  // There are two at most: each newer one ends those that wait.
  const findOpen = db.prepare<Interruptible>(
    `SELECT message, thread_id, state, merged_into, lease_owner, abort_count FROM turns INDEXED BY turns_speaker
     WHERE thread_id = ? AND speaker = ? AND ended_at IS NULL AND mode = 'interrupt' AND task_id IS ? ORDER BY message`,
  )
  return (batch, { thread, task, speaker }, now) => {
    const open = findOpen
      .all(thread, speaker, task ?? null)
      .filter(({ lease_owner, abort_count }) => lease_owner === null || abort_count < maxAborts)
    for (const turn of open) cancel(batch, turn, now, 'interrupted')
    if (open.length === 0) return undefined
    return {
      aborts: Math.max(...open.map(({ lease_owner, abort_count }) => abort_count + (lease_owner === null ? 0 : 1))),
    }
  }
}
