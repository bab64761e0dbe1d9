// Counts the leased turns of each agent, and checks their limit.
import type { LeaseRequest, TurnConsumer } from '@postern/pipeline'
import type { Operation } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'
import type { Batch } from '../../transaction/batch.ts'
import type { StoreContext } from '../../transaction/store-context.ts'

const leasedTurnsSql =
  'FROM turns INDEXED BY turns_leased WHERE lease_owner IS NOT NULL AND due_at > ?1 AND is_waiting = 0'

/** The numbers of leased turns by agent, without those that wait for another agent. */
interface LeasedTurns {
  /** The turns that other workers have leased. */
  readonly byOthers: ReadonlyMap<string, number>
  /** The turns of the polling worker. It may have more turns than at its request, because other transactions may have ended since then. */
  readonly byRequester: ReadonlyMap<string, number>
}

export function createLeasedTurnCounter(db: Sql): (holder: string, now: number) => Operation<LeasedTurns> {
  const count = db.prepare<{ agent: string; is_own: 0 | 1; turns: number }>(
    `SELECT agent, CASE WHEN lease_owner = ?2 THEN 1 ELSE 0 END AS is_own, count(*) AS turns ${leasedTurnsSql} GROUP BY agent, is_own`,
  )
  return function* (holder, now) {
    const rows = yield* count.all(now, holder)
    const countByAgent = (isOwn: 0 | 1) =>
      new Map(rows.filter(row => row.is_own === isOwn).map(({ agent, turns }) => [agent, turns]))
    return { byOthers: countByAgent(0), byRequester: countByAgent(1) }
  }
}

type ShareLimits = Pick<TurnConsumer, 'maxConcurrent'>

/** Adds a check to the end of the transaction that an agent does not have more concurrent turns than its limit. */
type ShareCheck = (batch: Batch, limits: ShareLimits, agent: string) => void

/**
 * Prepares the check of an agent's turns for gateways that share a database. It counts all leases in the table, including those of this gateway, under
 * the lock of the agent. A count in memory might miss another transaction of this process.
 */
export function createShareCheck({ db, now }: Pick<StoreContext, 'db' | 'now'>): ShareCheck {
  const check = db.prepareCheck(`SELECT count(*) <= ?2 AS is_so ${leasedTurnsSql} AND agent = ?3`)
  return (batch, limits, agent) => {
    const maxTurns = limits.maxConcurrent(agent)
    if (!batch.hasCompany || !Number.isFinite(maxTurns)) return
    batch.checks.set(`turns of ${agent}`, () => check(now(), maxTurns, agent))
  }
}

/** Reads the limits from the request of a worker that does not use the in-process queue. */
export function toShareLimits({ shares }: LeaseRequest): ShareLimits {
  return { maxConcurrent: agent => shares?.maxByGroup?.get(agent) ?? shares?.maxPerGroup ?? Number.POSITIVE_INFINITY }
}
