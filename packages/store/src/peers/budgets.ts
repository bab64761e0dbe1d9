import type { ChannelName, TurnBudget } from '@postern/core'
import type { Database } from '../engine/database.ts'
import { prepareQuery, readTogether, rowLocksOf } from '../engine/database.ts'

/** Where a budget is asked for. */
interface BudgetPlace {
  readonly via: ChannelName
  readonly thread: number
  readonly now: number
}

export interface BudgetTable {
  /** The first that has no room for one more; nothing is taken. */
  findExceeded(budgets: readonly TurnBudget[], place: BudgetPlace): TurnBudget | undefined
  /** Takes one of each. A new time begins when the old one is over. */
  take(budgets: readonly TurnBudget[], place: BudgetPlace): void
}

export function createBudgetTable(db: Database): BudgetTable {
  const find = prepareQuery<{ used: number }>(db, 'SELECT used FROM turn_budgets WHERE key = ? AND expires_at > ?')
  const take = prepareQuery(
    db,
    `INSERT INTO turn_budgets (key, expires_at, used) VALUES (?1, ?2, 1) ON CONFLICT (key) DO UPDATE SET
       used = CASE WHEN turn_budgets.expires_at <= ?3 THEN 1 ELSE turn_budgets.used + 1 END,
       expires_at = CASE WHEN turn_budgets.expires_at <= ?3 THEN ?2 ELSE turn_budgets.expires_at END`,
  )
  // Each one that is taken takes two out whose time is over: strangers fill this table, and it shrinks again.
  const removeOld = prepareQuery(
    db,
    `DELETE FROM turn_budgets WHERE key IN
       (SELECT key FROM turn_budgets INDEXED BY turn_budgets_expiry WHERE expires_at <= ? ORDER BY expires_at LIMIT 2 ${rowLocksOf(db).skipLocked})`,
  )
  return {
    findExceeded(budgets, place) {
      const used = readTogether(
        db,
        budgets.map(budget => () => find.get(keyOf(budget, place), place.now)?.used ?? 0),
      )
      return budgets.find((budget, at) => (used[at] ?? 0) >= budget.turns)
    },
    take(budgets, place) {
      for (const budget of budgets) take.run(keyOf(budget, place), place.now + budget.withinMs, place.now)
      if (budgets.length > 0) removeOld.run(place.now)
    },
  }
}

function keyOf({ key, isPerThread }: TurnBudget, { via, thread }: BudgetPlace): string {
  return isPerThread ? `${via} #${thread} ${key}` : `${via} ${key}`
}
