// Finds the budget, quota or loop limit that a message exceeds.

import { loopFlag } from '@postern/message'
import type { Intake } from '@postern/pipeline'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { AssignedThread } from '../threads/threads.ts'
import type { BudgetTable } from './budgets.ts'
import { createLoopFinder } from './loops.ts'
import type { QuotaTable } from './quotas.ts'

interface QuotaCheckDeps {
  readonly budgets: BudgetTable
  readonly quotas: QuotaTable
}

/** Prepares a check that returns the flag of the quota or budget that a message exceeds. If the message exceeds none, the check uses one turn of each. */
export function createQuotaCheck(db: Sql, { budgets: budgetTable, quotas }: QuotaCheckDeps) {
  const isLoop = createLoopFinder(db)
  return function* (intake: Intake, { thread, newThread }: AssignedThread, now: number): Operation<string | undefined> {
    const { quota, budgets = [], message, task, authorship } = intake
    if (task) return undefined
    const isNewThread = newThread !== undefined
    const context = { via: message.received_via, thread, isNewThread, now }
    const exceededBudget = yield* budgetTable.findExceeded(budgets, context)
    if (exceededBudget) return exceededBudget.flag
    if (yield* isLoop(intake, { thread, isNewThread }, now)) return loopFlag
    if (
      quota !== undefined &&
      !(yield* quotas.consume(
        { thread, isNewThread, author: authorship?.author ?? message.sender.address },
        quota,
        now,
      ))
    )
      return loopFlag
    budgetTable.consume(budgets, context)
    return undefined
  }
}
