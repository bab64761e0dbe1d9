// Leases due turns to workers.
import type { Turn, WorkStore } from '@postern/pipeline'
import type { FirstMessages } from '../../messages/first-messages.ts'
import type { ReadMessage } from '../../messages/read-message.ts'
import { formatJson } from '../../sql/json-columns.ts'
import type { Operation } from '../../sql/operation.ts'
import { runTogether } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'
import type { Batch } from '../../transaction/batch.ts'
import { threadConflict } from '../../transaction/conflict-keys.ts'
import { noteChange } from '../../transaction/notices.ts'
import type { StoreContext } from '../../transaction/store-context.ts'
import { moveTotal, moveTotals } from '../../transaction/totals.ts'
import { leaseByShares } from '../lease-by-shares.ts'
import { refuseLostLease } from '../lost-lease.ts'
import type { InProcessTurns } from './in-process-turns.ts'
import { toLease } from './in-process-turns.ts'
import { createLeasedTurnCounter } from './leased-turns.ts'
import type { LeasableTurn } from './merge-turns.ts'
import { createTurnMerging, leasableColumns } from './merge-turns.ts'
import { toTurn } from './read-turn.ts'
import { appendAttemptSql, formatAttempt } from './turn-attempts.ts'

interface DueTurn extends LeasableTurn {
  /** 0 if the turn has a queue mode and another transaction is changing its thread, so that the turn may be merged or interrupted. */
  readonly is_free: 0 | 1
}

export interface TurnLeaseDeps {
  readonly tasks: { setWorking(task: number, now: number): void }
  readonly readMessage: ReadMessage
  readonly firstMessages: Pick<FirstMessages, 'find'>
  readonly inProcessTurns: Pick<InProcessTurns, 'limitRequest' | 'endPoll' | 'inDoubt'>
}

/** Creates the functions that lease turns, in the order in which they are due, and that renew and release their leases. */
export function createTurnLeases(
  context: StoreContext,
  tables: TurnLeaseDeps,
): Pick<WorkStore, 'leaseTurns' | 'release' | 'noteWaiting' | 'noteAlone'> & {
  readonly renewTurn: (turn: Turn, leaseMs: number) => Promise<void>
} {
  const { db, writeLightly, writeLast, now } = context
  const renew = db.prepare(
    'UPDATE turns SET due_at = ? WHERE message = ? AND lease_token = ? AND lease_owner IS NOT NULL',
  )
  const countLeased = createLeasedTurnCounter(db)
  const claimTurn = createTurnClaim(db, tables)
  const listDue = createDueTurnList(db, now)
  const { inDoubt } = tables.inProcessTurns

  return {
    leaseTurns: request =>
      inDoubt.track(poll =>
        writeLast(function* (batch) {
          const { holder, leaseMs } = request
          const { limit, shares } = tables.inProcessTurns.limitRequest(request)
          yield* poll.makeWorkDue(now())
          if (limit <= 0) return []
          const expiresAt = now() + leaseMs
          const claimedTurns: ClaimedTurn[] = []
          const { heldByOthers, readyCount } = yield* leaseByShares(
            { limit, shares },
            {
              find: listDue,
              findFirst:
                shares &&
                (fullAgents => runTogether([() => listDue(fullAgents, limit), () => countLeased(holder, now())])),
              *claimAll(dueTurns) {
                for (const dueTurn of dueTurns) {
                  const claimedTurn = yield* claimTurn(batch, dueTurn, { holder, expiresAt, now: now() })
                  claimedTurns.push(claimedTurn)
                  poll.recordLease(toClaimedLease(claimedTurn, { holder, expiresAt }))
                }
              },
              getGroup: ({ agent }) => agent,
              isBusy: row => row.is_free === 0,
            },
          )
          const readers = claimedTurns.map(claimedTurn => () => readClaimedTurn(tables, batch, claimedTurn))
          const work = yield* runTogether(readers)
          return tables.inProcessTurns.endPoll(batch, request, { work, readyCount, heldByOthers })
        }),
      ),
    noteWaiting: createWaitRecorder(db, writeLightly),
    noteAlone: createIsolationRecorder(context),
    release: createRelease(context),
    async renewTurn({ message, token, thread }, leaseMs) {
      const conflictKeys = () => [threadConflict(thread)]
      const changes = await writeLightly(() => renew.change(now() + leaseMs, message, token), { conflictKeys })
      refuseLostLease(changes, `turn ${message}`)
    },
  }
}

/** Returns the new lease of a claimed turn. */
function toClaimedLease({ due }: ClaimedTurn, lease: Parameters<typeof toLease>[1]): ReturnType<typeof toLease> {
  return toLease({ message: due.message, token: due.lease_token + 1 }, lease)
}

function createWaitRecorder(db: Sql, writeLightly: StoreContext['writeLightly']): WorkStore['noteWaiting'] {
  const noteWaiting = db.prepare('UPDATE turns SET is_waiting = ? WHERE message = ? AND lease_token = ?')
  return ({ message, token, thread }, isWaiting) =>
    writeLightly(
      batch => {
        noteWaiting.run(isWaiting ? 1 : 0, message, token)
        // A waiting turn frees its share, so another worker may lease another turn of the agent.
        if (isWaiting) batch.readyWork.add('turns')
      },
      { conflictKeys: () => [threadConflict(thread)] },
    )
}

function createIsolationRecorder({ db, write }: StoreContext): WorkStore['noteAlone'] {
  const noteAlone = db.prepare(
    'UPDATE turns SET crash_count = crash_count + 1 WHERE message = ? AND lease_token = ? AND lease_owner IS NOT NULL',
  )
  return async ({ message, token, thread }) => {
    const changes = await write(() => noteAlone.change(message, token), {
      conflictKeys: () => [threadConflict(thread)],
    })
    refuseLostLease(changes, `turn ${message}`)
  }
}

type ListDue = (fullAgents: readonly string[], limit: number) => Operation<readonly DueTurn[]>

/** Prepares the query for due turns. `fullAgents` have used up their share. */
function createDueTurnList(db: Sql, now: () => number): ListDue {
  const { skipLocked, isFree } = db.rowLocks
  const findDue = db.prepare<DueTurn>(
    `SELECT ${leasableColumns}, CASE WHEN mode IS NULL OR ${isFree('thread_id')} THEN 1 ELSE 0 END AS is_free FROM (
       SELECT ${leasableColumns} FROM turns WHERE due_at <= ? AND agent NOT IN (SELECT value FROM json_each(?))
       ORDER BY due_at LIMIT +? ${skipLocked}) AS due`,
  )
  return (fullAgents, limit) => findDue.all(now(), formatJson(fullAgents), limit)
}

/**
 * Returns true for a turn that was never leased and whose message was not edited, so that the message in memory is still correct. A turn with the mode
 * `merge` is excluded, because an edit of a merged message changes no revision.
 */
function isUnchanged({ lease_token, revision, mode }: LeasableTurn): boolean {
  return lease_token === 0 && revision === 0 && mode !== 'merge'
}

function* readClaimedTurn(tables: TurnLeaseDeps, batch: Batch, { due, merged }: ClaimedTurn): Operation<Turn> {
  const firstMessage = isUnchanged(due) ? tables.firstMessages.find(batch, due.message) : undefined
  return yield* toTurn(tables, due, { merged, firstMessage })
}

interface ClaimedTurn {
  readonly due: LeasableTurn
  readonly merged: readonly number[]
}

interface Claim {
  readonly holder: string
  readonly expiresAt: number
  readonly now: number
}

/** Prepares the lease of a due turn, together with the turns that are merged into it. */
function createTurnClaim(db: Sql, { tasks }: Pick<TurnLeaseDeps, 'tasks'>) {
  const { mergeFollowers, listMerged } = createTurnMerging(db)
  const claim = db.prepare(
    `UPDATE turns SET state = 'working', due_at = ?, lease_token = lease_token + 1, attempt = attempt + 1, lease_owner = ?,
       crash_count = CASE WHEN crash_count = 0 THEN 1 ELSE crash_count END, is_waiting = 0 WHERE message = ?`,
  )
  const claimMerged = db.prepare(
    "UPDATE turns SET state = 'working' WHERE merged_into = ? AND ended_at IS NULL AND state = 'received'",
  )
  return function* (batch: Batch, row: DueTurn, { holder, expiresAt, now }: Claim): Operation<ClaimedTurn> {
    const due = yield* mergeFollowers(batch, row)
    const { message } = due
    claim.run(expiresAt, holder, message)
    moveTotal(batch, `messages.${due.state}`, 'messages.working')
    noteChange(batch, 'turn', message)
    const merged = due.mode === 'merge' ? yield* listMerged(message) : []
    if (merged.length > 0)
      moveTotals(batch, yield* claimMerged.change(message), ['messages.received', 'messages.working'])
    for (const task of new Set([due, ...merged].map(({ task_id }) => task_id)))
      if (task !== null) tasks.setWorking(task, now)
    return { due, merged: merged.map(mergedTurn => mergedTurn.message) }
  }
}

function createRelease({ db, write, now }: StoreContext): WorkStore['release'] {
  const releaseLease = db.prepare(
    `UPDATE turns SET state = 'received', due_at = ?1, attempt = attempt - ?2, crash_count = 0, lease_owner = NULL, error = coalesce(?3, error),
       trace = ${appendAttemptSql('?4')}, tried_at = coalesce(tried_at, CAST(?7 AS INTEGER)) WHERE message = ?5 AND lease_token = ?6 AND lease_owner IS NOT NULL`,
  )
  // Turns that wait for this turn are delayed by it, so their time limit begins, too.
  const beginWaiting = db.prepare(
    'UPDATE turns SET tried_at = ? WHERE thread_id = ? AND ended_at IS NULL AND tried_at IS NULL',
  )
  const releaseMerged = db.prepare(
    "UPDATE turns SET state = 'received' WHERE merged_into = ? AND ended_at IS NULL AND state = 'working'",
  )
  return async ({ message, token, thread }, { dueAt, error, isUncounted: uncounted, attempt }) => {
    const attemptLine = formatAttempt(attempt)
    const firstAttemptAt = uncounted ? null : now()
    function* releaseTurn(batch: Batch) {
      const changes = yield* releaseLease.change(
        dueAt,
        uncounted ? 1 : 0,
        error ?? null,
        attemptLine,
        message,
        token,
        firstAttemptAt,
      )
      if (changes > 0) {
        if (firstAttemptAt !== null) beginWaiting.run(firstAttemptAt, thread)
        const mergedCount = yield* releaseMerged.change(message)
        moveTotals(batch, 1 + mergedCount, ['messages.working', 'messages.received'])
        noteChange(batch, 'turn', message)
      }
      // Workers are also notified of a later time, because a worker that waits for the next due time must poll again.
      batch.readyWork.add('turns')
      return changes
    }
    const releasedRows = await write(releaseTurn, { conflictKeys: () => [threadConflict(thread)] })
    refuseLostLease(releasedRows, `turn ${message}`)
  }
}
