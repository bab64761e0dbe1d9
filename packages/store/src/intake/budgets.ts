// Counts turns against the budgets of senders, threads and channels.
import type { ChannelName } from '@postern/message'
import type { TurnBudget } from '@postern/pipeline'
import { digestName } from '../digests/digest-name.ts'
import { prepareForRows, repeatRow } from '../sql/multi-row.ts'
import type { Operation } from '../sql/operation.ts'
import { runTogether } from '../sql/operation.ts'
import type { Query, Sql, SqlValue } from '../sql/sql.ts'
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

interface BudgetRow {
  readonly key: string
  readonly expires_at: number
  readonly used: number
}

/** Returns true if the period of a budget has not ended. A period that begins in the future was stored with a wrong clock. */
function isRunning({ expires_at }: BudgetRow, { withinMs }: TurnBudget, now: number): boolean {
  return expires_at > now && expires_at <= now + withinMs + maxClockSkewMs
}

export function createBudgetTable(db: Sql): BudgetTable {
  const listRows = prepareForRows<Query<BudgetRow>, string>(rowCount =>
    db.prepare(`SELECT key, expires_at, used FROM turn_budgets WHERE key IN (${repeatRow('?', rowCount)})`),
  )
  const expiredCondition = `turn_budgets.expires_at <= ?1 OR turn_budgets.expires_at > excluded.expires_at + ${maxClockSkewMs}`
  const consumeTurns = prepareForRows<Query, readonly SqlValue[]>(rowCount =>
    db.prepare(
      `INSERT INTO turn_budgets (key, expires_at, used) VALUES ${listConsumedRows(rowCount)} ON CONFLICT (key) DO UPDATE SET
         used = CASE WHEN ${expiredCondition} THEN 1 ELSE turn_budgets.used + 1 END,
         expires_at = CASE WHEN ${expiredCondition} THEN excluded.expires_at ELSE turn_budgets.expires_at END`,
    ),
  )
  // Strangers can fill this table. Each insert removes two expired rows, so the table shrinks again.
  const removeExpired = db.prepare(
    `DELETE FROM turn_budgets WHERE key IN
       (SELECT key FROM turn_budgets INDEXED BY turn_budgets_expiry WHERE expires_at <= ? ORDER BY expires_at LIMIT 2 ${db.rowLocks.skipLocked})`,
  )
  return {
    *findExceeded(budgets, context) {
      const isUnused = ({ isPerThread }: TurnBudget) => isPerThread === true && context.isNewThread
      const keys = budgets.map(budget => (isUnused(budget) ? undefined : keyOf(budget, context)))
      const queries: (() => Operation<BudgetRow[]>)[] = []
      const usedKeys = [...new Set(keys)].filter(key => key !== undefined)
      listRows(usedKeys, (query, slice) => queries.push(() => query.all(...slice)))
      const rows = new Map((yield* runTogether(queries)).flat().map(row => [row.key, row]))
      return budgets.find((budget, index) => {
        const row = rows.get(keys[index] ?? '')
        const usedTurns = row && isRunning(row, budget, context.now) ? row.used : 0
        return usedTurns >= budget.turns
      })
    },
    consume(budgets, context) {
      if (budgets.length === 0) return
      const rows = new Map(budgets.map(budget => [keyOf(budget, context), context.now + budget.withinMs]))
      consumeTurns([...rows], (insert, slice) => insert.run(context.now, ...slice.flat()))
      removeExpired.run(context.now)
    },
  }
}

/** Formats the rows of budgets that use one turn. The first parameter of the statement is the time. */
function listConsumedRows(rowCount: number): string {
  return Array.from({ length: rowCount }, (_, index) => `(?${2 * index + 2}, ?${2 * index + 3}, 1)`).join(', ')
}

/** Returns a digest as the key of a budget, because the budget outlives the messages of the person whom its plain key would name. */
function keyOf({ key, isPerThread }: TurnBudget, { via, thread }: BudgetContext): string {
  return digestName(isPerThread ? `${via} #${thread} ${key}` : `${via} ${key}`)
}
