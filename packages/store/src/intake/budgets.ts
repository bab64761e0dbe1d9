// Counts turns against the budgets of senders, threads and channels.
import type { ChannelName } from '@postern/message'
import type { TurnBudget } from '@postern/pipeline'
import { digestName } from '../digests/digest-name.ts'
import type { Operation } from '../sql/operation.ts'
import { runTogether } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import { maxClockSkewMs } from './clock-skew.ts'

/** The thread and channel whose budgets are checked. */
interface BudgetContext {
  readonly via: ChannelName
  readonly thread: number
  readonly isNewThread: boolean
  readonly now: number
}

export interface BudgetTable {
  /** Returns the first budget that has no turn left, and changes nothing. */
  findExceeded(budgets: readonly TurnBudget[], context: BudgetContext): Operation<TurnBudget | undefined>
  /** Uses one turn of each budget. A new period begins after the previous period has ended. */
  consume(budgets: readonly TurnBudget[], context: BudgetContext): void
}

export function createBudgetTable(db: Sql): BudgetTable {
  const find = db.prepare<{ used: number }>(
    'SELECT used FROM turn_budgets WHERE key = ? AND expires_at > ? AND expires_at <= ?',
  )
  const expiredCondition = 'turn_budgets.expires_at <= ?3 OR turn_budgets.expires_at > ?4'
  const consumeTurn = db.prepare(
    `INSERT INTO turn_budgets (key, expires_at, used) VALUES (?1, ?2, 1) ON CONFLICT (key) DO UPDATE SET
       used = CASE WHEN ${expiredCondition} THEN 1 ELSE turn_budgets.used + 1 END,
       expires_at = CASE WHEN ${expiredCondition} THEN ?2 ELSE turn_budgets.expires_at END`,
  )
  // Strangers can fill this table. Each insert removes two expired rows, so the table shrinks again.
  const removeExpired = db.prepare(
    `DELETE FROM turn_budgets WHERE key IN
       (SELECT key FROM turn_budgets INDEXED BY turn_budgets_expiry WHERE expires_at <= ? ORDER BY expires_at LIMIT 2 ${db.rowLocks.skipLocked})`,
  )
  return {
    *findExceeded(budgets, context) {
      function* countUsed(budget: TurnBudget) {
        return (
          (yield* find.get(keyOf(budget, context), context.now, context.now + budget.withinMs + maxClockSkewMs))
            ?.used ?? 0
        )
      }
      const isUnused = ({ isPerThread }: TurnBudget) => isPerThread === true && context.isNewThread
      const usedCounts = yield* runTogether(
        budgets.map(
          budget =>
            function* () {
              return isUnused(budget) ? 0 : yield* countUsed(budget)
            },
        ),
      )
      return budgets.find((budget, index) => (usedCounts[index] ?? 0) >= budget.turns)
    },
    consume(budgets, context) {
      for (const budget of budgets) {
        const expiresAt = context.now + budget.withinMs
        consumeTurn.run(keyOf(budget, context), expiresAt, context.now, expiresAt + maxClockSkewMs)
      }
      if (budgets.length > 0) removeExpired.run(context.now)
    },
  }
}

/** Returns a digest as the key of a budget, because the budget outlives the messages of the person whom its plain key would name. */
function keyOf({ key, isPerThread }: TurnBudget, { via, thread }: BudgetContext): string {
  return digestName(isPerThread ? `${via} #${thread} ${key}` : `${via} ${key}`)
}
