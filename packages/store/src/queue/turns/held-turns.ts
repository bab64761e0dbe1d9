// Counts the leased turns of each agent.
import type { LeaseRequest, TurnConsumer } from '@postern/pipeline'
import { prepareCheck } from '../../sql/engine-defaults.ts'
import type { Sql } from '../../sql/sql.ts'
import type { Batch } from '../../transaction/batch.ts'
import type { StoreContext } from '../../transaction/store-context.ts'

const held = 'FROM turns INDEXED BY turns_leased WHERE lease_owner IS NOT NULL AND due_at > ?1 AND is_waiting = 0'

/** Numbers of leased turns by agent, without those that wait for another agent. */
interface HeldTurns {
  /** Turns that other workers hold. */
  readonly elsewhere: ReadonlyMap<string, number>
  /** Turns of the worker itself. There may be more than it knew when it asked, if other transactions have ended since. */
  readonly own: ReadonlyMap<string, number>
}

export function createHeldCounter(db: Sql): (holder: string, now: number) => HeldTurns {
  const count = db.prepare<{ agent: string; is_own: 0 | 1; turns: number }>(
    `SELECT agent, CASE WHEN lease_owner = ?2 THEN 1 ELSE 0 END AS is_own, count(*) AS turns ${held} GROUP BY agent, is_own`,
  )
  return (holder, now) => {
    const rows = count.all(now, holder)
    const listOf = (isOwn: 0 | 1) =>
      new Map(rows.filter(row => row.is_own === isOwn).map(({ agent, turns }) => [agent, turns]))
    return { elsewhere: listOf(0), own: listOf(1) }
  }
}

type Sharer = Pick<TurnConsumer, 'mostOf'>

/** Adds a check for the end of the transaction: an agent must not have more turns at once than it may. */
type ShareCheck = (batch: Batch, sharer: Sharer, agent: string) => void

/**
 * Prepares the check of an agent's turns for gateways that may lease at the same time as others. It counts all leases in the table, also those of
 * this gateway, while it holds the lock of the agent. A count in memory could be older than another transaction of this process.
 */
export function createShareCheck({ db, now }: Pick<StoreContext, 'db' | 'now'>): ShareCheck {
  const check = prepareCheck(db, `SELECT count(*) <= ?2 AS is_so ${held} AND agent = ?3`)
  return (batch, { mostOf }, agent) => {
    const most = mostOf(agent)
    if (!batch.hasCompany || !Number.isFinite(most)) return
    batch.checks.set(`turns of ${agent}`, () => check(now(), most, agent))
  }
}

/** Returns the bounds in the request of a worker outside this process's queue. */
export function toSharer({ shares }: LeaseRequest): Sharer {
  return { mostOf: agent => shares?.mostOf?.get(agent) ?? shares?.most ?? Number.POSITIVE_INFINITY }
}
