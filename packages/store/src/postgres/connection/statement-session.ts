// Sends the statements of operations and remembers their results.
import { Unavailable } from '@postern/message'
import type { SqlValue } from '../../sql/sql.ts'
import { OperationFailed } from '../../sqlite/write/transactions.ts'
import { failureOf } from './failure.ts'
import type { Statement, StepResult } from './pipelined-run.ts'
import type { ConnectionPool, PooledConnection } from './pool.ts'
import { StatementFailed, toStatementError } from './store-errors.ts'

/** A statement with its name. Each connection sends its text to the server once. */
export interface PlainStatement extends Statement {
  readonly id: number
  readonly isSelect: boolean
  /** True if it locks its rows until the end of the transaction, and others skip them. */
  readonly locksRows: boolean
}

/** A statement that was requested, with its result once it has run. */
export interface PendingStatement {
  readonly statement: Statement
  readonly values: readonly SqlValue[]
  result: StepResult | undefined
}

/** One transaction. It acquires a connection with its first query. Statements that return nothing are sent together with the next query. */
export interface StatementSession {
  /** Adds a statement of the gateway itself. */
  add(statement: PlainStatement, values: readonly SqlValue[]): PendingStatement
  /** Adds a statement of an operation. */
  run(statement: PlainStatement, values: readonly SqlValue[]): PendingStatement
  /** Sends all waiting statements. @returns true if there were any @throws Unavailable, Rejection, StatementFailed */
  flush(): Promise<boolean>
  /** Sends all waiting statements for the last time. Any of them may have failed. @throws OperationFailed, Unavailable */
  flushLast(): Promise<boolean>
  /** Commits the transaction. @throws OperationFailed, StatementFailed, Unavailable */
  commit(): Promise<void>
  /**
   * Ends a transaction that has changed nothing. It waits for the server only if rows were locked, because the next poll has to find them.
   * @throws as `commit`
   */
  endUnchanged(): Promise<void>
  rollback(): void
  /** Returns true if an operation has run a statement other than a SELECT. */
  hasChanged(): boolean
  /** Returns true if the session has sent the commit. */
  isEnding(): boolean
}

/**
 * The kind of a transaction. A `reading` sees one snapshot. A `query` is a single round trip and needs no explicit transaction,
 * because the server runs pipelined statements in one.
 */
type TransactionKind = 'query' | 'reading' | 'writing'

/** The error of a query that sends statements a second time. */
export const secondQueryError = new Error('a query sent statements a second time')

/** Opens a session. `kindOf` is called before the session sends for the first time. */
export function openStatementSession(
  pool: Pick<ConnectionPool, 'acquire'>,
  kindOf: () => TransactionKind,
): StatementSession {
  const { add, flush, end, release } = createStatementQueue(pool, kindOf)
  let hasChanged = false
  let isEnding = false
  const lockingStatements: PendingStatement[] = []

  async function flushLast(): Promise<boolean> {
    try {
      return await flush()
    } catch (error) {
      // A refusal by a running server concerns one statement. A missing server concerns all of them.
      if (error instanceof Unavailable) throw error
      throw new OperationFailed('a statement failed', { cause: error })
    }
  }

  async function commit(): Promise<void> {
    isEnding = true
    const commitStatement = add(controlStatements.commit, [])
    await flushLast()
    const tag = commitStatement.result?.tag
    if (tag !== 'COMMIT') throw new StatementFailed(`the server answers COMMIT by ${tag}`)
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
  /** Discards the waiting statements and sends `statement` without waiting. A failure shows in the next transaction. */
  end(statement: PlainStatement): void
  release(): void
}

function createStatementQueue(pool: Pick<ConnectionPool, 'acquire'>, kindOf: () => TransactionKind): StatementQueue {
  let pendingStatements: PendingStatement[] = []
  let connection: PooledConnection | undefined
  let hasQueried = false

  async function send(statements: readonly PendingStatement[]): Promise<readonly StepResult[]> {
    if (connection) return connection.run(statements, false)
    connection = await pool.acquire()
    const kind = kindOf()
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
        throw toStatementError(failureOf(failure))
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
  return { id: lastId, name: `s${lastId}`, text, ...traitsOf(text) }
}

const traitsOf = (text: string) => ({ isSelect: /^\s*SELECT\b/.test(text), locksRows: text.includes('SKIP LOCKED') })

/** Returns a function that names statements. The same text gets the same name, because an operation that runs again may prepare it again. */
export function createStatementCache(): (text: string) => PlainStatement {
  const statements = new Map<string, PlainStatement>()
  return text => {
    const statement = statements.get(text) ?? createStatement(text)
    statements.set(text, statement)
    return statement
  }
}

const step = (text: string) => ({ statement: createStatement(text), values: [] })

const beginStatements = {
  reading: step('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'),
  writing: step('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE'),
}

/** Sets up a connection for queries. Each query sees one snapshot. */
export const readSetUp = 'SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY'

const controlStatements = {
  commit: createStatement('COMMIT'),
  rollback: createStatement('ROLLBACK'),
}
