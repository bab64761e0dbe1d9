import { Unavailable } from '@postern/core'
import type { SqlValue } from '../../engine/database.ts'
import { OperationFailed } from '../../engine/transactions.ts'
import { failureOf } from './failure.ts'
import type { Statement, StepResult } from './pipelined-run.ts'
import type { HeldLine, LinePool } from './pool.ts'
import { StatementFailed, toStatementError } from './store-errors.ts'

/** `name`: the server is told the text once on each connection. */
export interface PlainStatement extends Statement {
  readonly id: number
  readonly isReading: boolean
  /** What it finds is nobody else's until the end of the transaction: others pass over it. */
  readonly takesRows: boolean
}

/** A statement that was asked for, and what came of it once it has run. */
export interface PendingStatement {
  readonly statement: Statement
  readonly values: readonly SqlValue[]
  result: StepResult | undefined
}

/** One transaction. It holds a connection from its first question on. What only changes rows is sent with what is asked next. */
export interface StatementSession {
  /** For the gateway itself. */
  add(statement: PlainStatement, values: readonly SqlValue[]): PendingStatement
  /** For an operation. */
  run(statement: PlainStatement, values: readonly SqlValue[]): PendingStatement
  /** Sends what waits. @returns whether there was anything to ask @throws Unavailable, Rejection, StatementFailed */
  flush(): Promise<boolean>
  /** As `flush`, at the end: any statement may have failed. @throws OperationFailed, Unavailable */
  flushLast(): Promise<boolean>
  /** @throws OperationFailed, StatementFailed, Unavailable */
  commit(): Promise<void>
  /** Ends what has changed nothing. Only where it has taken rows somebody waits for it: whoever looks next has to find them. @throws as `commit` */
  endUnchanged(): Promise<void>
  rollback(): void
  /** Whether an operation has run anything but readings. */
  hasChanged(): boolean
  /** Whether it has asked for the commit. */
  isEnding(): boolean
}

/**
 * What is read in a transaction that writes nothing is as it was at one moment, whoever writes meanwhile. A `look` asks once, and needs no
 * transaction of its own: the server makes one of what comes together.
 */
type Kind = 'look' | 'reading' | 'writing'

/** What a look gets that asks a second time. */
export const asksAgain = new Error('a look asks again')

/** `kindOf`: asked when it sends for the first time. */
export function openStatementSession(pool: Pick<LinePool, 'hold'>, kindOf: () => Kind): StatementSession {
  const { add, flush, end, release } = openSending(pool, kindOf)
  let hasChanged = false
  let isEnding = false
  const taking: PendingStatement[] = []

  async function flushLast(): Promise<boolean> {
    try {
      return await flush()
    } catch (error) {
      // What the server refuses by now is a statement of somebody's; what it is not there for concerns all.
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
  /** Sends this instead of what waits. Nobody waits for its answer: what fails shows with the next transaction. */
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
    if (kind === 'look') return look(held, asked)
    const results = await held.run([begins[kind], ...asked], true)
    return results.slice(1)
  }

  async function look(line: HeldLine, asked: readonly PendingStatement[]): Promise<readonly StepResult[]> {
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

/** The same statement for the same text: an operation that runs again may prepare it again. */
export function createNames(): (text: string) => PlainStatement {
  const known = new Map<string, PlainStatement>()
  return text => {
    const statement = known.get(text) ?? nameStatement(text)
    known.set(text, statement)
    return statement
  }
}

const step = (text: string) => ({ statement: nameStatement(text), values: [] })

const begins = {
  reading: step('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'),
  writing: step('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE'),
}

/** For a connection: what a look reads is as it was at one moment. */
export const lookSetUp = 'SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY'

const own = {
  commit: nameStatement('COMMIT'),
  rollback: nameStatement('ROLLBACK'),
}
