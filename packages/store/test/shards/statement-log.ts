// Records the transactions of a store on SQLite.
import { StatementSync } from 'node:sqlite'
import { onTestFinished } from 'vitest'

interface LoggedStatement {
  readonly sql: string
  /** The statement with its values. */
  readonly expandedSql: string
}

/** The statements of a transaction, or a query outside of one. */
export type LoggedTransaction = readonly LoggedStatement[]

interface StatementLog {
  /** Returns the transactions since the last call. */
  take(): readonly LoggedTransaction[]
}

const methods = ['run', 'get', 'all', 'iterate'] as const

/** Records all statements on rows until the end of the test. */
export function logStatements(): StatementLog {
  let transactions: LoggedTransaction[] = []
  let open: LoggedStatement[] | undefined

  function note({ sourceSQL: sql, expandedSQL: expandedSql }: StatementSync): void {
    if (/^\s*BEGIN\b/.test(sql)) open = []
    else if (/^\s*(COMMIT|ROLLBACK)\b/.test(sql)) {
      if (open) transactions.push(open)
      open = undefined
    } else if (/^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/.test(sql)) {
      if (open) open.push({ sql, expandedSql })
      else transactions.push([{ sql, expandedSql }])
    }
  }

  for (const method of methods) {
    const original = StatementSync.prototype[method] as (...values: unknown[]) => unknown
    Object.assign(StatementSync.prototype, {
      [method](this: StatementSync, ...values: unknown[]) {
        const result = original.apply(this, values)
        note(this)
        return result
      },
    })
    onTestFinished(() => void Object.assign(StatementSync.prototype, { [method]: original }))
  }
  return {
    take() {
      const taken = transactions
      transactions = []
      return taken
    },
  }
}
