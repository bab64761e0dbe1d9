import type { MessageState, Turn, WorkStore } from '@postern/core'
import type { Batch, Sql } from '../engine/database.ts'
import {
  formatJson,
  moveTotal,
  moveTotals,
  noteChange,
  readTogether,
  refuseLostLease,
  rowLocksOf,
} from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import type { FirstMessages, ReadMessage } from '../messages/table.ts'
import { touchedThread } from '../together/touched.ts'
import type { Gatherable } from './gathering.ts'
import { createGathering } from './gathering.ts'
import { appendAttempt, formatAttempt, takeShares, toTurn } from './queue.ts'
import { createHeldCounter } from './shares.ts'
import type { TurnOffer } from './turn-offer.ts'
import { toLease } from './turn-offer.ts'

interface DueTurn extends Gatherable {
  readonly agent: string
  readonly state: MessageState
  readonly attempt: number
  readonly crash_count: number
  readonly revision: number
  /** Of one that is answered together with others, or interrupted: nobody else changes its thread now. */
  readonly is_free: 0 | 1
}

const dueColumns =
  'message, agent, thread_id, task_id, state, lease_token, attempt, crash_count, mode, speaker, revision'

export interface TurnLeaseDeps {
  readonly tasks: { setWorking(task: number, now: number): void }
  readonly readMessage: ReadMessage
  readonly firstMessages: Pick<FirstMessages, 'find'>
  readonly turnOffer: Pick<TurnOffer, 'limitRequest' | 'hold' | 'unsure'>
}

/** Turns are taken up here, in the order they fell due, and given back. */
export function createTurnLeases(
  { db, write, writeLightly, writeLast, now }: StoreContext,
  tables: TurnLeaseDeps,
): Pick<WorkStore, 'leaseTurns' | 'release' | 'noteWaiting'> & {
  readonly renewTurn: (turn: Turn, leaseMs: number) => Promise<void>
} {
  const renew = db.prepare(
    'UPDATE turns SET due_at = ? WHERE message = ? AND lease_token = ? AND lease_owner IS NOT NULL',
  )
  const countElsewhere = createHeldCounter(db)
  const claimTurn = createTurnClaim(db, tables)
  const listDue = createDueLister(db, now)
  const { unsure } = tables.turnOffer

  return {
    leaseTurns: request =>
      unsure.watch(look =>
        writeLast(batch => {
          const { holder, leaseMs } = request
          const { limit, shares } = tables.turnOffer.limitRequest(batch, request)
          look.giveBack(batch, now())
          if (limit <= 0) return []
          const until = now() + leaseMs
          const claimed: ClaimedTurn[] = []
          const { elsewhere, seen } = takeShares(
            { limit, shares },
            {
              find: listDue,
              findFirst:
                shares && (full => readTogether(db, [() => listDue(full, limit), () => countElsewhere(holder, now())])),
              claim(row) {
                const taken = claimTurn(batch, row, { holder, until, now: now() })
                claimed.push(taken)
                look.note(toLease({ message: taken.due.message, token: taken.due.lease_token + 1 }, { holder, until }))
              },
              groupOf: ({ agent }) => agent,
              isBusy: row => row.is_free === 0,
            },
          )
          const readings = claimed.map(taken => () => readClaimed(tables, batch, taken))
          return tables.turnOffer.hold(batch, request, { works: readTogether(db, readings), seen, elsewhere })
        }),
      ),
    noteWaiting: createWaitNoting(db, writeLightly),
    release: createRelease(db, write),
    async renewTurn({ message, token, thread }, leaseMs) {
      const touches = () => [touchedThread(thread)]
      const renewed = await writeLightly(() => renew.run(now() + leaseMs, message, token).changes, { touches })
      refuseLostLease(renewed, `turn ${message}`)
    },
  }
}

function createWaitNoting(db: Sql, writeLightly: StoreContext['writeLightly']): WorkStore['noteWaiting'] {
  const noteWaiting = db.prepare('UPDATE turns SET is_waiting = ? WHERE message = ? AND lease_token = ?')
  return ({ message, token, thread }, isWaiting) =>
    writeLightly(
      batch => {
        noteWaiting.run(isWaiting ? 1 : 0, message, token)
        // Who else works may take another turn of the agent now.
        if (isWaiting) batch.readyWork.add('turns')
      },
      { touches: () => [touchedThread(thread)] },
    )
}

type ListDue = (full: readonly string[], limit: number) => readonly DueTurn[]

/** `full`: agents of which no turn is wanted. */
function createDueLister(db: Sql, now: () => number): ListDue {
  const { skipLocked, isFree } = rowLocksOf(db)
  const findDue = db.prepare<DueTurn>(
    `SELECT ${dueColumns}, CASE WHEN mode IS NULL OR ${isFree('thread_id')} THEN 1 ELSE 0 END AS is_free FROM (
       SELECT ${dueColumns} FROM turns WHERE due_at <= ? AND agent NOT IN (SELECT value FROM json_each(?))
       ORDER BY due_at LIMIT +? ${skipLocked}) AS due`,
  )
  return (full, limit) => findDue.all(now(), formatJson(full), limit)
}

/** Nobody has had it, and its words are as they came; those of a merged turn may have changed without a trace. */
function isUntouched({ lease_token, revision, mode }: DueTurn): boolean {
  return lease_token === 0 && revision === 0 && mode !== 'merge'
}

function readClaimed(tables: TurnLeaseDeps, batch: Batch, { due, merged }: ClaimedTurn): Turn {
  const first = isUntouched(due) ? tables.firstMessages.find(batch, due.message) : undefined
  return toTurn(tables, due, { merged, first })
}

interface ClaimedTurn {
  readonly due: DueTurn
  readonly merged: readonly number[]
}

interface Claim {
  readonly holder: string
  readonly until: number
  readonly now: number
}

/** Takes a due turn, together with the messages that it answers, too. */
function createTurnClaim(db: Sql, { tasks }: Pick<TurnLeaseDeps, 'tasks'>) {
  const { gather, listMerged } = createGathering(db)
  const claim = db.prepare(
    `UPDATE turns SET state = 'working', due_at = ?, lease_token = lease_token + 1, attempt = attempt + 1, crash_count = crash_count + 1, lease_owner = ?,
       is_waiting = 0 WHERE message = ?`,
  )
  const claimMerged = db.prepare(
    "UPDATE turns SET state = 'working' WHERE merged_into = ? AND ended_at IS NULL AND state = 'received'",
  )
  return (batch: Batch, due: DueTurn, { holder, until, now }: Claim): ClaimedTurn => {
    const message = gather(batch, due)
    claim.run(until, holder, message)
    moveTotal(batch, `messages.${due.state}`, 'messages.working')
    noteChange(batch, 'turn', message)
    const merged = due.mode === 'merge' ? listMerged(message) : []
    if (merged.length > 0)
      moveTotals(batch, claimMerged.run(message).changes, ['messages.received', 'messages.working'])
    if (due.task_id !== null) tasks.setWorking(due.task_id, now)
    return { due: { ...due, message }, merged }
  }
}

function createRelease(db: Sql, write: StoreContext['write']): WorkStore['release'] {
  const giveBack = db.prepare(
    `UPDATE turns SET state = 'received', due_at = ?1, attempt = attempt - ?2, crash_count = 0, lease_owner = NULL, error = coalesce(?3, error),
       trace = ${appendAttempt('?4')} WHERE message = ?5 AND lease_token = ?6 AND lease_owner IS NOT NULL`,
  )
  const giveBackMerged = db.prepare(
    "UPDATE turns SET state = 'received' WHERE merged_into = ? AND ended_at IS NULL AND state = 'working'",
  )
  return async ({ message, token, thread }, { dueAt, error, uncounted, attempt }) => {
    const tried = formatAttempt(attempt)
    const giveBackTurn = (batch: Batch) => {
      const { changes } = giveBack.run(dueAt, uncounted ? 1 : 0, error ?? null, tried, message, token)
      if (changes > 0) {
        const merged = giveBackMerged.run(message).changes
        moveTotals(batch, 1 + merged, ['messages.working', 'messages.received'])
        noteChange(batch, 'turn', message)
      }
      // Also for a time yet to come: whoever waits for the next due time has to look again.
      batch.readyWork.add('turns')
      return changes
    }
    const given = await write(giveBackTurn, { touches: () => [touchedThread(thread)] })
    refuseLostLease(given, `turn ${message}`)
  }
}
