// Adds the turn of a message to the queue.
import type { QueuePosition } from '../../messages/message-draft.ts'
import type { Sql } from '../../sql/sql.ts'
import type { Batch } from '../../transaction/batch.ts'
import { noteChange } from '../../transaction/notices.ts'
import { addToTotal } from '../../transaction/totals.ts'

interface NewTurn {
  readonly message: number
  readonly agent: string
  readonly thread: number
  readonly task: number | undefined
  readonly now: number
}

/** A turn that joins the queue of its thread. */
export interface QueuedTurn extends NewTurn {
  readonly lane?: QueuePosition | undefined
  /** The digest of the message's author and object, by which an edit finds the turn. */
  readonly words?: string | undefined
  /** The lease of a turn that begins at once. Such a turn is the first of its thread. */
  readonly lease?: { readonly holder: string; readonly until: number } | undefined
}

/** Adds turns to the queue. */
export interface TurnQueue {
  queue(batch: Batch, turn: QueuedTurn): void
  /** Inserts the ended turn of an event for which the agent has already spoken. */
  noteAnswered(batch: Batch, turn: NewTurn): void
}

interface TurnQueueDeps {
  readonly interrupt: Interrupt
  readonly promoteNext: (batch: Batch, thread: number, now: number) => void
}

export function createTurnQueue(db: Sql, { interrupt, promoteNext }: TurnQueueDeps): TurnQueue {
  const insert = db.prepare(
    `INSERT INTO turns (message, thread_id, task_id, agent, state, mode, speaker, ready_at, abort_count, authorship, due_at)
     VALUES (?1, ?2, ?3, ?5, 'received', ?6, ?7, ?8, ?9, ?10,
       CASE WHEN EXISTS (SELECT 1 FROM turns WHERE thread_id = ?2 AND ended_at IS NULL) THEN NULL ELSE coalesce(CAST(?8 AS INTEGER), ?4) END)`,
  )
  const insertLeased = db.prepare(
    `INSERT INTO turns (message, thread_id, task_id, agent, state, authorship, due_at, lease_owner, lease_token, attempt, crash_count)
     VALUES (?, ?, ?, ?, 'working', ?, ?, ?, 1, 1, 1)`,
  )
  const waitAgain = db.prepare(
    `UPDATE tasks SET state = 'submitted' WHERE id = ?1 AND state = 'working' AND NOT EXISTS
       (SELECT 1 FROM turns WHERE task_id = ?1 AND ended_at IS NULL AND lease_owner IS NOT NULL)`,
  )
  /** Promotes the newer turn after an interruption, and puts its task back to `submitted`. */
  function promoteNewer(batch: Batch, { thread, task, now }: Pick<NewTurn, 'thread' | 'task' | 'now'>): void {
    promoteNext(batch, thread, now)
    if (task !== undefined) waitAgain.run(task)
  }
  const insertAnswered = db.prepare(
    "INSERT INTO turns (message, thread_id, agent, state, ended_at) VALUES (?, ?, ?, 'answered', ?)",
  )
  return {
    queue(batch, { message, agent, thread, task, now, lane, words, lease }) {
      if (lease) {
        insertLeased.run(message, thread, task ?? null, agent, words ?? null, lease.until, lease.holder)
        addToTotal(batch, 'messages.working')
        noteChange(batch, 'turn', message)
        return
      }
      const interrupted =
        lane?.mode === 'interrupt' ? interrupt(batch, { thread, task, speaker: lane.speaker }, now) : undefined
      const readyAt = lane?.windowMs ? now + lane.windowMs : null
      const columns = [
        lane?.mode ?? null,
        lane?.speaker ?? null,
        readyAt,
        interrupted?.aborts ?? 0,
        words ?? null,
      ] as const
      insert.run(message, thread, task ?? null, now, agent, ...columns)
      addToTotal(batch, 'messages.received')
      batch.readyWork.add('turns')
      if (interrupted) promoteNewer(batch, { thread, task, now })
    },
    noteAnswered(batch, { message, agent, thread, now }) {
      insertAnswered.run(message, thread, agent, now)
      addToTotal(batch, 'messages.answered')
    },
  }
}

/** A speaker in a thread, or in a task of a thread. */
interface SpeakerLine {
  readonly thread: number
  readonly task: number | undefined
  readonly speaker: string
}

/** Ends the open turns of a speaker for their newer message. It returns undefined if there was none. A turn that was aborted often enough runs on. */
export type Interrupt = (batch: Batch, line: SpeakerLine, now: number) => { readonly aborts: number } | undefined
