// Sends the statements of operations and remembers their results.
import { Unavailable } from '@postern/message'
import type { SqlValue } from '../../sql/sql.ts'
import { OperationFailed } from '../../sqlite/write/transactions.ts'
import { failureOf } from './failure.ts'
import type { Statement, StepResult } from './pipelined-run.ts'
import type { HeldLine, LinePool } from './pool.ts'
import { StatementFailed, toStatementError } from './store-errors.ts'

/** A statement with its name. Each connection sends its text to the server once. */
export interface PlainStatement extends Statement {
  readonly id: number
  readonly isReading: boolean
  /** True if it locks its rows until the end of the transaction, and others skip them. */
  readonly takesRows: boolean
}

/** A statement that was requested, with its result once it has run. */
export interface PendingStatement {
  readonly statement: Statement
  readonly values: readonly SqlValue[]
  result: StepResult | undefined
}

/** One transaction. It holds a connection from its first question on. Statements that only change rows are sent with the next question. */
export interface StatementSession {
  /** Adds a statement of the gateway itself. */
  add(statement: PlainStatement, values: readonly SqlValue[]): PendingStatement
  /** Adds a statement of an operation. */
  run(statement: PlainStatement, values: readonly SqlValue[]): PendingStatement
  /** Sends all waiting statements. @returns true if there was anything to ask @throws Unavailable, Rejection, StatementFailed */
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
  /** Returns true if an operation has run a statement that is no reading. */
  hasChanged(): boolean
  /** Returns true if the session has sent the commit. */
  isEnding(): boolean
}

/**
 * The kind of a transaction. A `reading` sees one moment, whoever writes in the meantime. A `query` asks once and needs no transaction of its own,
 * because the server runs statements that arrive together in one.
 */
type Kind = 'query' | 'reading' | 'writing'

/** The error that a query gets if it asks a second time. */
export const asksAgain = new Error('a look asks again')

/** Opens a session. `kindOf` is called before the session sends for the first time. */
export function openStatementSession(pool: Pick<LinePool, 'hold'>, kindOf: () => Kind): StatementSession {
  const { add, flush, end, release } = openSending(pool, kindOf)
  let hasChanged = false
  let isEnding = false
  const taking: PendingStatement[] = []

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
    const committed = add(own.commit, [])
    await flushLast()
    const tag = committed.result?.tag
    if (tag !== 'COMMIT') throw new StatementFailed(`the server answers COMMIT by ${tag}`)
    release()
  }

  return {
    add,
    flush,
    flushLast,
    run(statement, values) {
      if (!statement.isReading) hasChanged = true
      const asked = add(statement, values)
      if (statement.takesRows) taking.push(asked)
      return asked
    },
    commit,
    async endUnchanged() {
      if (taking.some(({ result }) => result?.rows.length)) await commit()
      else end(own.commit)
    },
    rollback: () => end(own.rollback),
    hasChanged: () => hasChanged,
    isEnding: () => isEnding,
  }
}

interface Sending extends Pick<StatementSession, 'add' | 'flush'> {
  /** Sends `statement` instead of the waiting ones. Nobody waits for the answer, because a failure shows in the next transaction. */
  end(statement: PlainStatement): void
  release(): void
}

function openSending(pool: Pick<LinePool, 'hold'>, kindOf: () => Kind): Sending {
  let pending: PendingStatement[] = []
  let held: HeldLine | undefined
  let hasLooked = false

  async function ask(asked: readonly PendingStatement[]): Promise<readonly StepResult[]> {
    if (held) return held.run(asked, false)
    held = await pool.hold()
    const kind = kindOf()
    if (kind === 'query') return query(held, asked)
    const results = await held.run([begins[kind], ...asked], true)
    return results.slice(1)
  }

  async function query(line: HeldLine, asked: readonly PendingStatement[]): Promise<readonly StepResult[]> {
    hasLooked = true
    try {
      return await line.run(asked, true)
    } finally {
      release()
    }
  }

  function release(): void {
    held?.release()
    held = undefined
  }

  return {
    release,
    add(statement, values) {
      const added: PendingStatement = { statement, values, result: undefined }
      pending.push(added)
      return added
    },
    async flush() {
      const sent = pending
      pending = []
      if (sent.length === 0) return false
      if (hasLooked) throw asksAgain
      const results = await ask(sent).catch(failure => {
        throw toStatementError(failureOf(failure))
      })
      for (const [at, each] of sent.entries()) each.result = results[at]
      return true
    },
    end(statement) {
      pending = []
      void held?.run([{ statement, values: [] }], false).then(release, release)
    },
  }
}

let lastId = 0

export function nameStatement(text: string): PlainStatement {
  lastId += 1
  return { id: lastId, name: `s${lastId}`, text, ...traitsOf(text) }
}

const traitsOf = (text: string) => ({ isReading: /^\s*SELECT\b/.test(text), takesRows: text.includes('SKIP LOCKED') })

/** Returns a function that names statements. The same text gets the same name, because an operation that runs again may prepare it again. */
export function createNames(): (text: string) => PlainStatement {
  const statements = new Map<string, PlainStatement>()
  return text => {
    const statement = statements.get(text) ?? nameStatement(text)
    statements.set(text, statement)
    return statement
  }
}

const step = (text: string) => ({ statement: nameStatement(text), values: [] })

const begins = {
  reading: step('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'),
  writing: step('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE'),
}

/** Sets up a connection for queries. Each query sees the data of one moment. */
export const readSetUp = 'SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY'

const own = {
  commit: nameStatement('COMMIT'),
  rollback: nameStatement('ROLLBACK'),
}
