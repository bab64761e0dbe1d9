// Implements the database of the store on PostgreSQL.

import { createOperationRunner, markHandled } from '../batching/operation-runner.ts'
import type { Database, SqlValue } from '../sql/sql.ts'
import type { Writer, WriterHooks } from '../transaction/writer.ts'
import type { NumberedInsert } from './connection/numbering.ts'
import { formatSequenceName, readNumberedInsert } from './connection/numbering.ts'
import type { StepResult } from './connection/pipelined-run.ts'
import type { ConnectionPool } from './connection/pool.ts'
import type { PendingStatement, PlainStatement } from './connection/statement-session.ts'
import { createStatement, createStatementCache } from './connection/statement-session.ts'
import { createLockKeys } from './locks/lock-keys.ts'
import type { DatabaseDeps, OperationContext } from './operation-context.ts'
import { translateQuery } from './sql/translate-query.ts'
import type { ReadRetries } from './transactions/readings.ts'
import { createReadings } from './transactions/readings.ts'
import type { TransactionOptions } from './transactions/transaction.ts'
import { createTransactions } from './transactions/transaction.ts'
import { createPostgresWriter } from './transactions/writer.ts'

export interface PostgresDatabase extends Omit<Database, 'read'>, ReadRetries {
  openWriter(hooks: WriterHooks): Writer
  /** Runs a query like `read`, on connections that only operators use. */
  readonly readForOperators: ReadRetries['read']
  /** Returns the time of the clock, which stands still while an operation runs. */
  now(): number
}

interface DatabaseOptions extends TransactionOptions {
  /** The connections for the queries of operators. */
  readonly operatorPool: Pick<ConnectionPool, 'acquire'>
  readonly now: () => number
}

/**
 * Opens the database of the store on PostgreSQL. Transactions of all gateways run at the same time, unless they use the same rows (decision 0023).
 * Statements whose result nobody awaits are sent together with the next query.
 */
export function openPostgresDatabase(
  pool: Pick<ConnectionPool, 'acquire'>,
  options: DatabaseOptions,
): PostgresDatabase {
  const runner = createOperationRunner<OperationContext>(options.now)
  const sequences = new Map<string, string>()
  const readResult = (pending: PendingStatement): StepResult => pending.result ?? runner.suspend()
  const keys = createLockKeys(options.schema)

  const readings = createReadings(pool, { runner })
  const db: PostgresDatabase = {
    ...createPreparation({ runner, sequences, readResult }),
    prepareCheck(sql) {
      const check = createStatement(`SELECT must_hold(is_so) FROM (${translateQuery(sql)}) AS checked`)
      return (...values) => void runner.context().session.add(check, values)
    },
    rowLocks: {
      // This lock does not skip rows to which other rows only refer by a foreign key.
      skipLocked: 'FOR NO KEY UPDATE SKIP LOCKED',
      wait: 'FOR UPDATE',
      isFree: thread => `pg_try_advisory_xact_lock(${keys.threadKeySql(thread)})`,
      isRunning: holder =>
        `EXISTS (SELECT 1 FROM gateways g WHERE g.lease_owner = ${holder} AND NOT pg_try_advisory_xact_lock(g.lock))`,
    },
    readBatch: runner.readBatch,
    now: runner.now,
    ...readings,
    readForOperators: createReadings(options.operatorPool, { runner }).read,
    openWriter(hooks) {
      const write = createTransactions({ db, pool, runner, keys, sequences, readResult }, { ...options, ...hooks })
      const writer = createPostgresWriter(write, hooks)
      // An operation that waits for results runs again from its start, so each write in the operation is queued only once.
      const once = <T>(enqueue: () => Promise<T>) => runner.act(() => markHandled(enqueue()))
      return {
        ...writer,
        write: (operation, terms) => once(() => writer.write(operation, terms)),
        writeLightly: (operation, terms) => once(() => writer.writeLightly(operation, terms)),
        writeLast: operation => once(() => writer.writeLast(operation)),
      }
    },
  }
  return db
}

interface PreparationDeps extends DatabaseDeps {
  readonly sequences: Map<string, string>
}

function createPreparation({
  runner,
  sequences,
  readResult,
}: PreparationDeps): Pick<PostgresDatabase, 'prepare' | 'prepareReturning'> {
  const getStatement = createStatementCache()
  const requestStatement = (statement: PlainStatement, values: readonly SqlValue[]) =>
    runner.nextStep(statement.id, () => runner.context().session.run(statement, values))

  function prepareNumbered(numberedInsert: NumberedInsert, statement: PlainStatement) {
    const { table, name } = numberedInsert
    sequences.set(table, formatSequenceName(numberedInsert))
    const insert = (values: readonly SqlValue[]) => {
      const number = runner.nextStep(statement.id, () => {
        const { session, nextNumber } = runner.context()
        const rowNumber = nextNumber(table)
        session.run(statement, [...values, rowNumber])
        return rowNumber
      })
      return { [name]: number }
    }
    return {
      get: (...values: SqlValue[]) => insert(values),
      all: (...values: SqlValue[]) => [insert(values)],
      run(...values: SqlValue[]) {
        insert(values)
        return { changes: 1 }
      },
    }
  }

  return {
    prepare(sql) {
      const numberedInsert = readNumberedInsert(sql)
      const statement = getStatement(translateQuery(numberedInsert?.sql ?? sql))
      if (numberedInsert) return prepareNumbered(numberedInsert, statement)
      return {
        get: (...values) => readResult(requestStatement(statement, values)).rows[0],
        all: (...values) => [...readResult(requestStatement(statement, values)).rows],
        run: (...values) => toChangeResult(requestStatement(statement, values), readResult),
      }
    },
    prepareReturning(sql) {
      const statement = getStatement(translateQuery(sql))
      return (...values) => {
        const pending = requestStatement(statement, values)
        return () => readResult(pending).rows[0]
      }
    },
  }
}

/** Returns the result of a change. Reading `changes` waits until the statement has run, and most callers never read it. */
function toChangeResult(
  pending: PendingStatement,
  readResult: DatabaseDeps['readResult'],
): { readonly changes: number } {
  return {
    get changes() {
      return readResult(pending).changes
    },
  }
}
