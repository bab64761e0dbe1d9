// Adds the turn of a message to the queue.
import type { SpeakerQueueMode } from '../../messages/message-draft.ts'
import type { Operation } from '../../sql/operation.ts'
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
  readonly queuePosition?: SpeakerQueueMode | undefined
  /** The digest of the message's author and object, with which an edit finds the turn. */
  readonly authorshipDigest?: string | undefined
  /** The lease of a turn that begins at once. Such a turn is the first of its thread. */
  readonly lease?: TurnLease | undefined
}

interface TurnLease {
  readonly holder: string
  readonly expiresAt: number
}

type LeasedTurn = NewTurn & Pick<QueuedTurn, 'authorshipDigest'> & { readonly lease: TurnLease }

/** Adds turns to the queue. */
export interface TurnQueue {
  enqueue(batch: Batch, turn: QueuedTurn): Operation<void>
  /** Begins the turn of a message that begins a thread. The row is written at the end of the turn, if that is within the transaction. */
  begin(batch: Batch, turn: LeasedTurn): void
  /** Inserts an answered turn for a synthetic message. */
  addAnswered(batch: Batch, turn: NewTurn): void
}

interface TurnQueueDeps {
  readonly interrupt: InterruptTurns
  readonly promoteNext: (batch: Batch, thread: number, now: number) => Operation<void>
}

export function createTurnQueue(db: Sql, { interrupt, promoteNext }: TurnQueueDeps): TurnQueue {
  const insert = db.prepare(
    `INSERT INTO turns (message, thread_id, task_id, agent, state, mode, speaker, ready_at, abort_count, authorship, due_at)
     VALUES (?1, ?2, ?3, ?5, 'received', ?6, ?7, ?8, ?9, ?10,
       CASE WHEN EXISTS (SELECT 1 FROM turns WHERE thread_id = ?2 AND ended_at IS NULL) THEN NULL ELSE coalesce(CAST(?8 AS INTEGER), ?4) END)`,
  )
  const { insertLeased, begin } = createLeasedTurns(db)
  const resetTask = db.prepare(
    `UPDATE tasks SET state = 'submitted' WHERE id = ?1 AND state = 'working' AND NOT EXISTS
       (SELECT 1 FROM turns WHERE task_id = ?1 AND ended_at IS NULL AND lease_owner IS NOT NULL)`,
  )
  /** Makes the newer turn due after an interruption, and sets its task back to `submitted`. */
  function* promoteNewer(
    batch: Batch,
    { thread, task, now }: Pick<NewTurn, 'thread' | 'task' | 'now'>,
  ): Operation<void> {
    yield* promoteNext(batch, thread, now)
    if (task !== undefined) resetTask.run(task)
  }
  const insertAnswered = db.prepare(
    "INSERT INTO turns (message, thread_id, agent, state, ended_at) VALUES (?, ?, ?, 'answered', ?)",
  )
  return {
    *enqueue(batch, { message, agent, thread, task, now, queuePosition, authorshipDigest, lease }) {
      if (lease) return insertLeased(batch, { message, agent, thread, task, now, authorshipDigest, lease })
      const interruption =
        queuePosition?.mode === 'interrupt'
          ? yield* interrupt(batch, { thread, task, speaker: queuePosition.speaker }, now)
          : undefined
      const readyAt = queuePosition?.windowMs ? now + queuePosition.windowMs : null
      const columns = [
        queuePosition?.mode ?? null,
        queuePosition?.speaker ?? null,
        readyAt,
        interruption?.abortCount ?? 0,
        authorshipDigest ?? null,
      ] as const
      insert.run(message, thread, task ?? null, now, agent, ...columns)
      addToTotal(batch, 'messages.received')
      batch.readyWork.add('turns')
      if (interruption) yield* promoteNewer(batch, { thread, task, now })
    },
    begin,
    addAnswered(batch, { message, agent, thread, now }) {
      insertAnswered.run(message, thread, agent, now)
      addToTotal(batch, 'messages.answered')
    },
  }
}

interface LeasedTurns {
  insertLeased(batch: Batch, turn: LeasedTurn): void
  readonly begin: TurnQueue['begin']
}

/** Creates the functions that add the first turns of threads with their leases. */
function createLeasedTurns(db: Sql): LeasedTurns {
  const insertRunning = db.prepare(
    `INSERT INTO turns (message, thread_id, task_id, agent, authorship, state, due_at, lease_owner, lease_token, attempt, crash_count)
     VALUES (?, ?, ?, ?, ?, 'working', ?, ?, 1, 1, 1)`,
  )
  const insertEnded = db.prepare(
    `INSERT INTO turns (message, thread_id, task_id, agent, authorship, state, ended_at, error, trace, lease_token, attempt, crash_count)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 1, 1)`,
  )
  function listColumns({ message, thread, task, agent, authorshipDigest }: LeasedTurn) {
    return [message, thread, task ?? null, agent, authorshipDigest ?? null] as const
  }
  function noteRunning(batch: Batch, { message }: LeasedTurn): void {
    addToTotal(batch, 'messages.working')
    noteChange(batch, 'turn', message)
  }
  return {
    insertLeased(batch, turn) {
      insertRunning.run(...listColumns(turn), turn.lease.expiresAt, turn.lease.holder)
      noteRunning(batch, turn)
    },
    begin(batch, turn) {
      const { message, thread, task, lease } = turn
      const columns = listColumns(turn)
      batch.unwrittenTurns.set(message, {
        ...{ thread, task },
        write: () => insertRunning.run(...columns, lease.expiresAt, lease.holder),
        writeEnded: ({ state, at, error, attempt }) => insertEnded.run(...columns, state, at, error, attempt),
      })
      noteRunning(batch, turn)
    },
  }
}

/** A speaker in a thread or in a task of a thread. */
interface SpeakerScope {
  readonly thread: number
  readonly task: number | undefined
  readonly speaker: string
}

/** Ends the open turns of a speaker who has sent a newer message. Turns that were aborted `maxAborts` times already continue. Returns undefined if no turn was ended. */
export type InterruptTurns = (
  batch: Batch,
  scope: SpeakerScope,
  now: number,
) => Operation<{ readonly abortCount: number } | undefined>
