import type { LeaseRequest, TurnTaker } from '@postern/core'
import type { Batch, Sql } from '../engine/database.ts'
import { prepareCheck } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'

const heldElsewhere = `FROM turns INDEXED BY turns_leased
  WHERE lease_owner IS NOT NULL AND lease_owner <> ?1 AND due_at > ?2 AND is_waiting = 0`

/** How many turns of each agent others hold, but for those that wait for another agent. */
export function createHeldCounter(db: Sql): (holder: string, now: number) => ReadonlyMap<string, number> {
  const count = db.prepare<{ agent: string; held: number }>(
    `SELECT agent, count(*) AS held ${heldElsewhere} GROUP BY agent`,
  )
  return (holder, now) => new Map(count.all(holder, now).map(({ agent, held }) => [agent, held]))
}

/** Who leases turns, and how many more of an agent they may have if nobody else has any: asked at the end of the transaction, when all are counted. */
type Sharer = Pick<TurnTaker, 'holder' | 'countFree'>

/** Has it checked at the end of the transaction that an agent has no more turns at once than it may. */
type ShareCheck = (batch: Batch, sharer: Sharer, agent: string) => void

/** Others may lease turns of the same agents now. */
export function createShareCheck({ db, now }: Pick<StoreContext, 'db' | 'now'>): ShareCheck {
  const check = prepareCheck(db, `SELECT count(*) <= ?3 AS is_so ${heldElsewhere} AND agent = ?4`)
  return (batch, { holder, countFree }, agent) => {
    if (!batch.hasCompany || !Number.isFinite(countFree(agent))) return
    batch.checks.set(`turns of ${agent}`, () => check(holder, now(), countFree(agent), agent))
  }
}

/** Who asks by what they know: a worker of another process, or one that has offered nothing. */
export function toSharer({ holder, shares }: LeaseRequest, leased: number): Sharer {
  const countFree = (agent: string) =>
    shares
      ? (shares.mostOf?.get(agent) ?? shares.most) - (shares.taken.get(agent) ?? 0) - leased
      : Number.POSITIVE_INFINITY
  return { holder, countFree }
}
