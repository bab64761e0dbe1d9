// Sends the statements of one transaction and stores their results.
import { Unavailable } from '@postern/message'
import type { SqlValue } from '../../sql/sql.ts'
import { OperationFailed } from '../../sqlite/write/transactions.ts'
import { toPostgresFailure } from './failure.ts'
import type { Statement, StepResult } from './pipelined-run.ts'
import type { ConnectionPool, PooledConnection } from './pool.ts'
import { StatementFailed, toStatementError } from './store-errors.ts'

/** A statement of the store with what the session must know about it. */
export interface PlainStatement extends Statement {
  readonly id: number
  readonly isSelect: boolean
  /** True if the statement locks its rows until the end of the transaction, so that other polls skip these rows. */
  readonly locksRows: boolean
}

/** A statement that was requested. `result` is undefined until the statement has run. */
export interface PendingStatement {
  readonly statement: Statement
  readonly values: readonly SqlValue[]
  result: StepResult | undefined
}

/** Waits until a statement has its result. */
export function* waitForResult(pending: PendingStatement): Generator<void, StepResult, void> {
  while (!pending.result) yield
  return pending.result
}

/** One transaction. It acquires a connection when it first sends statements. Statements whose result nobody awaits are sent together with the next query. */
export interface StatementSession {
  /** Adds a statement of the gateway itself. */
  add(statement: PlainStatement, values: readonly SqlValue[]): PendingStatement
  /** Adds a statement of an operation. */
  run(statement: PlainStatement, values: readonly SqlValue[]): PendingStatement
  /** Sends all waiting statements. @returns true if there were any @throws Unavailable, Rejection, StatementFailed */
  flush(): Promise<boolean>
  /** Sends all waiting statements of the last operation. An error does not tell which statement failed. @throws OperationFailed, Unavailable */
  flushLast(): Promise<boolean>
  /** Commits the transaction. @throws OperationFailed, StatementFailed, Unavailable */
  commit(): Promise<void>
  /**
   * Ends a transaction that has changed nothing. It waits for the server only if rows were locked, because the next poll must find these rows.
   * @throws OperationFailed, StatementFailed, Unavailable
   */
  endUnchanged(): Promise<void>
  rollback(): void
  /** Returns true if an operation has run a statement other than a SELECT. */
  hasChanged(): boolean
  /** Returns true if the session has sent the commit. */
  isEnding(): boolean
}

/**
 * The kind of a transaction. A `reading` sees one snapshot. A `query` is a single round trip. It needs no explicit
 * transaction, because the server runs pipelined statements in one transaction.
 */
type TransactionKind = 'query' | 'reading' | 'writing'

/** The error of a query that sends statements a second time. */
export const secondQueryError = new Error('a query sent statements a second time')

/** Opens a session. The session calls `chooseKind` before it sends statements for the first time. */
export function openStatementSession(
  pool: Pick<ConnectionPool, 'acquire'>,
  chooseKind: () => TransactionKind,
): StatementSession {
  const { add, flush, end, release } = createStatementQueue(pool, chooseKind)
  let hasChanged = false
  let isEnding = false
  const lockingStatements: PendingStatement[] = []

  async function flushLast(): Promise<boolean> {
    try {
      return await flush()
    } catch (error) {
      // An error of a running server concerns one statement. An unreachable server concerns all statements.
      if (error instanceof Unavailable) throw error
      throw new OperationFailed('a statement failed', { cause: error })
    }
  }

  async function commit(): Promise<void> {
    isEnding = true
    const commitStatement = add(controlStatements.commit, [])
    await flushLast()
    const tag = commitStatement.result?.tag
    if (tag !== 'COMMIT') throw new StatementFailed(`the server answered COMMIT with ${tag}`)
    release()
  }

  return {
    add,
    flush,
    flushLast,
    run(statement, values) {
      if (!statement.isSelect) hasChanged = true
      const pendingStatement = add(statement, values)
      if (statement.locksRows) lockingStatements.push(pendingStatement)
      return pendingStatement
    },
    commit,
    async endUnchanged() {
      if (lockingStatements.some(({ result }) => result?.rows.length)) await commit()
      else end(controlStatements.commit)
    },
    rollback: () => end(controlStatements.rollback),
    hasChanged: () => hasChanged,
    isEnding: () => isEnding,
  }
}

interface StatementQueue extends Pick<StatementSession, 'add' | 'flush'> {
  /** Discards the waiting statements and sends `statement` without waiting. An error appears in the next transaction. */
  end(statement: PlainStatement): void
  release(): void
}

function createStatementQueue(
  pool: Pick<ConnectionPool, 'acquire'>,
  chooseKind: () => TransactionKind,
): StatementQueue {
  let pendingStatements: PendingStatement[] = []
  let connection: PooledConnection | undefined
  let hasQueried = false

  async function send(statements: readonly PendingStatement[]): Promise<readonly StepResult[]> {
    if (connection) return connection.run(statements, false)
    connection = await pool.acquire()
    const kind = chooseKind()
    if (kind === 'query') return query(connection, statements)
    const results = await connection.run([beginStatements[kind], ...statements], true)
    return results.slice(1)
  }

  async function query(
    connection: PooledConnection,
    statements: readonly PendingStatement[],
  ): Promise<readonly StepResult[]> {
    hasQueried = true
    try {
      return await connection.run(statements, true)
    } finally {
      release()
    }
  }

  function release(): void {
    connection?.release()
    connection = undefined
  }

  return {
    release,
    add(statement, values) {
      const pendingStatement: PendingStatement = { statement, values, result: undefined }
      pendingStatements.push(pendingStatement)
      return pendingStatement
    },
    async flush() {
      const statements = pendingStatements
      pendingStatements = []
      if (statements.length === 0) return false
      if (hasQueried) throw secondQueryError
      const results = await send(statements).catch(failure => {
        throw toStatementError(toPostgresFailure(failure))
      })
      for (const [index, statement] of statements.entries()) statement.result = results[index]
      return true
    },
    end(statement) {
      pendingStatements = []
      void connection?.run([{ statement, values: [] }], false).then(release, release)
    },
  }
}

let lastId = 0

export function createStatement(text: string): PlainStatement {
  lastId += 1
  return { id: lastId, name: `s${lastId}`, text, ...readTraits(text) }
}

const readTraits = (text: string) => ({ isSelect: /^\s*SELECT\b/.test(text), locksRows: text.includes('SKIP LOCKED') })

/** Returns a function that creates statements. The same text gets the same statement, so that a connection prepares it once. */
export function createStatementCache(): (text: string) => PlainStatement {
  const statements = new Map<string, PlainStatement>()
  return text => {
    const statement = statements.get(text) ?? createStatement(text)
    statements.set(text, statement)
    return statement
  }
}

const createControlStep = (text: string) => ({ statement: createStatement(text), values: [] })

const beginStatements = {
  reading: createControlStep('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'),
  writing: createControlStep('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE'),
}

/** The first statement of a connection for queries. Each query sees one snapshot. */
export const readSetUp = 'SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY'

const controlStatements = {
  commit: createStatement('COMMIT'),
  rollback: createStatement('ROLLBACK'),
}
