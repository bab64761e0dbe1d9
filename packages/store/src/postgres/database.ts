// Implements the database of the store on PostgreSQL.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Operation } from '../sql/operation.ts'
import type { Query, Sql, SqlValue } from '../sql/sql.ts'
import type { Writer, WriterHooks } from '../transaction/writer.ts'
import type { NumberedInsert } from './connection/numbering.ts'
import { formatSequenceName, readNumberedInsert } from './connection/numbering.ts'
import type { ConnectionPool } from './connection/pool.ts'
import type { PlainStatement } from './connection/statement-session.ts'
import { createStatement, createStatementCache, waitForResult } from './connection/statement-session.ts'
import { createLockKeys } from './locks/lock-keys.ts'
import type { DatabaseDeps } from './operation-context.ts'
import { createOperationScope } from './operation-context.ts'
import { translateQuery } from './sql/translate-query.ts'
import { createReadings } from './transactions/readings.ts'
import type { TransactionOptions } from './transactions/transaction.ts'
import { createTransactions } from './transactions/transaction.ts'
import { createPostgresWriter } from './transactions/writer.ts'

export interface PostgresDatabase extends Sql {
  openWriter(hooks: WriterHooks): Writer
  /** Runs a call of a peer or a worker, even if an operator's call has caused it. */
  runForCallers<T>(call: () => T): T
  /** Runs a call whose queries use the connections that only operators use. */
  runForOperators<T>(call: () => T): T
}

interface DatabaseOptions extends TransactionOptions {
  /** The connections for the queries of operators. */
  readonly operatorPool: Pick<ConnectionPool, 'acquire'>
}

/**
 * Opens the database of the store on PostgreSQL. Transactions of all gateways run at the same time, unless they use the same rows (decision 0023).
 * Statements whose result nobody awaits are sent together with the next query.
 */
export function openPostgresDatabase(
  pool: Pick<ConnectionPool, 'acquire'>,
  options: DatabaseOptions,
): PostgresDatabase {
  const scope = createOperationScope()
  const sequences = new Map<string, string>()
  const keys = createLockKeys(options.schema)
  const read = createReadings(pool, scope)
  const readForOperators = createReadings(options.operatorPool, scope)
  const operatorCalls = new AsyncLocalStorage<boolean>()

  const db: PostgresDatabase = {
    ...createPreparation({ scope, sequences }),
    prepareCheck(sql) {
      const check = createStatement(`SELECT must_hold(is_so) FROM (${translateQuery(sql)}) AS checked`)
      return (...values) => void scope.context().session.add(check, values)
    },
    hasEndChecks: true,
    rowLocks: {
      // This lock does not skip rows to which other rows only refer by a foreign key.
      skipLocked: 'FOR NO KEY UPDATE SKIP LOCKED',
      wait: 'FOR UPDATE',
      isFree: thread => `pg_try_advisory_xact_lock(${keys.threadKeySql(thread)})`,
      isRunning: holder =>
        `EXISTS (SELECT 1 FROM gateways g WHERE g.lease_owner = ${holder} AND NOT pg_try_advisory_xact_lock(g.lock))`,
    },
    read: operation => (operatorCalls.getStore() ? readForOperators(operation) : read(operation)),
    runForCallers: call => (operatorCalls.getStore() ? operatorCalls.run(false, call) : call()),
    runForOperators: call => operatorCalls.run(true, call),
    openWriter(hooks) {
      const write = createTransactions({ db, pool, keys, scope, sequences }, { ...options, ...hooks })
      return createPostgresWriter(write, hooks)
    },
  }
  return db
}

interface PreparationDeps extends DatabaseDeps {
  readonly sequences: Map<string, string>
}

function createPreparation(deps: PreparationDeps): Pick<Sql, 'prepare' | 'prepareInsert' | 'prepareReturning'> {
  const getStatement = createStatementCache()
  const send = (statement: PlainStatement, values: readonly SqlValue[]) =>
    deps.scope.context().session.run(statement, values)

  function prepare<Row>(sql: string): Query<Row> {
    const numberedInsert = readNumberedInsert(sql)
    const statement = getStatement(translateQuery(numberedInsert?.sql ?? sql))
    if (numberedInsert) return prepareNumbered(deps, numberedInsert, statement)
    return {
      *get(...values) {
        return (yield* waitForResult(send(statement, values))).rows[0] as Row | undefined
      },
      *all(...values) {
        return [...(yield* waitForResult(send(statement, values))).rows] as Row[]
      },
      run: (...values) => void send(statement, values),
      *change(...values) {
        return (yield* waitForResult(send(statement, values))).changes
      },
    }
  }

  return {
    prepare,
    prepareInsert(sql, id = 'id') {
      const insert = prepare<{ readonly id: number }>(`${sql} RETURNING ${id} AS id`)
      return function* (...values) {
        const row = yield* insert.get(...values)
        if (!row) throw new Error('nothing was inserted')
        return row.id
      }
    },
    prepareReturning<Row>(sql: string) {
      const statement = getStatement(translateQuery(sql))
      return (...values: SqlValue[]) => {
        const pending = send(statement, values)
        return () => {
          if (!pending.result) throw new Error('a row was read before the end of its transaction')
          return pending.result.rows[0] as Row | undefined
        }
      }
    },
  }
}

/** Prepares an INSERT whose row gets its number in this process, so that nobody waits for the server. */
function prepareNumbered<Row>(
  { scope, sequences }: PreparationDeps,
  numberedInsert: NumberedInsert,
  statement: PlainStatement,
): Query<Row> {
  const { table, name } = numberedInsert
  sequences.set(table, formatSequenceName(numberedInsert))
  function* insert(values: readonly SqlValue[]): Operation<Row> {
    const { session, nextNumber } = scope.context()
    const number = yield* nextNumber(table)
    session.run(statement, [...values, number])
    return { [name]: number } as Row
  }
  return {
    get: (...values) => insert(values),
    *all(...values) {
      return [yield* insert(values)]
    },
    run() {
      throw new Error(`an insertion into ${table} must wait for its number`)
    },
    *change(...values) {
      yield* insert(values)
      return 1
    },
  }
}
