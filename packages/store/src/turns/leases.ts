import type { LeaseRequest, MessageState, Turn, WorkStore } from '@postern/core'
import type { Batch, Sql } from '../engine/database.ts'
import {
  formatJson,
  moveTotal,
  moveTotals,
  noteChange,
  prepareCheck,
  readTogether,
  refuseLostLease,
  rowLocksOf,
} from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import { createUnsureLeases } from '../engine/unsure-leases.ts'
import type { FirstMessages, ReadMessage } from '../messages/table.ts'
import { touchedThread } from '../together/touched.ts'
import type { Gatherable } from './gathering.ts'
import { createGathering } from './gathering.ts'
import type { TurnOffer } from './queue.ts'
import { appendAttempt, formatAttempt, takeShares, toTurn } from './queue.ts'

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
  readonly turnOffer: Pick<TurnOffer, 'limitRequest' | 'hold'>
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
  const checkShares = createShareCheck({ db, now })
  const claimTurn = createTurnClaim(db, tables)
  const listDue = createDueLister(db, now)
  const unsure = createUnsureLeases(db, { table: 'turns', number: 'message' })

  return {
    leaseTurns: request =>
      unsure.watch(note =>
        writeLast(batch => {
          const { holder, leaseMs } = request
          const { limit, shares } = tables.turnOffer.limitRequest(request)
          if (limit <= 0) return []
          unsure.giveBack(now())
          const claimed: ClaimedTurn[] = []
          takeShares(
            { limit, shares },
            {
              find: listDue,
              findFirst:
                shares && (full => readTogether(db, [() => listDue(full, limit), () => countElsewhere(holder, now())])),
              claim(row) {
                const taken = claimTurn(batch, row, { holder, until: now() + leaseMs, now: now() })
                claimed.push(taken)
                note({ number: taken.due.message, token: taken.due.lease_token + 1, holder })
              },
              groupOf: ({ agent }) => agent,
            },
          )
          checkShares(batch, claimed, { holder, shares })
          const readings = claimed.map(taken => () => readClaimed(tables, batch, taken))
          return tables.turnOffer.hold(batch, holder, readTogether(db, readings))
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
  // A turn whose thread somebody changes is found again: what makes turns due tells it, and every worker looks once a second.
  return (full, limit) => findDue.all(now(), formatJson(full), limit).filter(({ is_free }) => is_free === 1)
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

type ShareCheck = (
  batch: Batch,
  claimed: readonly ClaimedTurn[],
  request: Pick<LeaseRequest, 'holder' | 'shares'>,
) => void

/** Others may lease turns of the same agents now: with theirs, there may not be more at the end than an agent has at once. */
function createShareCheck({ db, now }: Pick<StoreContext, 'db' | 'now'>): ShareCheck {
  const check = prepareCheck(db, `SELECT count(*) <= ?3 AS is_so ${heldElsewhere} AND agent = ?4`)
  return (batch, claimed, { holder, shares }) => {
    if (!shares || !batch.hasCompany) return
    for (const [agent, turns] of Map.groupBy(claimed, ({ due }) => due.agent)) {
      const most = shares.mostOf?.get(agent) ?? shares.most
      const left = most - (shares.taken.get(agent) ?? 0) - turns.length
      if (Number.isFinite(left)) batch.checks.set(`turns of ${agent}`, () => check(holder, now(), left, agent))
    }
  }
}

const heldElsewhere = `FROM turns INDEXED BY turns_leased
  WHERE lease_owner IS NOT NULL AND lease_owner <> ?1 AND due_at > ?2 AND is_waiting = 0`

/** How many turns of each agent others hold, but for those that wait for another agent. */
function createHeldCounter(db: Sql): (holder: string, now: number) => ReadonlyMap<string, number> {
  const count = db.prepare<{ agent: string; held: number }>(
    `SELECT agent, count(*) AS held ${heldElsewhere} GROUP BY agent`,
  )
  return (holder, now) => new Map(count.all(holder, now).map(({ agent, held }) => [agent, held]))
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
