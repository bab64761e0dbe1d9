import { Unavailable } from '@postern/core'
import type { SqlValue } from '../../engine/database.ts'
import { OperationFailed } from '../../engine/transactions.ts'
import type { BlockingLine } from './blocking-line.ts'
import type { StatementRequest } from './messages.ts'
import type { StepResult } from './pipelined-run.ts'
import { StatementFailed } from './store-errors.ts'

export interface PlainStatement {
  readonly id: number
  readonly text: string
  readonly isReading: boolean
}

/** A statement that was asked for, and what came of it once it has run. */
export interface PendingStatement {
  readonly ask: StatementRequest['steps'][number]
  result: StepResult | undefined
}

/** Between `reading` and the end of the turn all is read as it was at one moment, whoever writes meanwhile. */
type Phase = 'idle' | 'reading' | 'writing'

/** The transactions of one connection. What only changes rows is sent with what is asked next. */
export interface StatementSession {
  /** Within a transaction. */
  add(statement: PlainStatement, values: readonly SqlValue[]): PendingStatement
  /** Begins to read where no transaction is open. */
  run(statement: PlainStatement, values: readonly SqlValue[]): PendingStatement
  /** Sends what waits. @returns whether there was anything to ask */
  flush(): boolean
  /** Waits for the answer. @throws StatementFailed */
  resultOf(pending: PendingStatement): StepResult
  /** As `resultOf`, at the end of a transaction: any of its statements may have failed. @throws OperationFailed */
  lateResultOf(pending: PendingStatement): StepResult
  beginWriting(): void
  /** @throws OperationFailed, StatementFailed */
  commit(): void
  /** Ends a transaction that has changed nothing: nobody waits for it. */
  endUnchanged(): void
  rollback(): void
  isWriting(): boolean
  /** Whether the transaction has run anything but readings. */
  hasChanged(): boolean
}

type SessionLine = Pick<BlockingLine, 'ask' | 'tell'>

/** `suspend`: breaks off an operation that can be run again once there is an answer. */
export function createStatementSession(line: SessionLine, suspend: () => void): StatementSession {
  const { add, drop, flush, tell, markBeginning } = createWaitingStatements(line)
  const { resultOf, lateResultOf } = createAnswerWait(flush, suspend)
  let phase: Phase = 'idle'
  let hasChanged = false

  function begin(next: Exclude<Phase, 'idle'>): void {
    if (phase === 'reading') add(own.commit, [])
    phase = next
    hasChanged = false
    markBeginning()
    add(next === 'reading' ? own.beginReading : own.begin, [])
  }

  function endReading(): void {
    if (phase === 'reading') endUnchanged()
  }

  function endUnchanged(): void {
    phase = 'idle'
    add(own.commit, [])
    tell()
  }

  return {
    add,
    flush,
    resultOf,
    lateResultOf,
    endUnchanged,
    run(statement, values) {
      if (phase === 'idle') {
        begin('reading')
        queueMicrotask(endReading)
      }
      if (!statement.isReading) hasChanged = true
      return add(statement, values)
    },
    beginWriting: () => begin('writing'),
    commit() {
      const { tag } = lateResultOf(add(own.commit, []))
      if (tag !== 'COMMIT') throw new StatementFailed(`the server answers COMMIT by ${tag}`)
      phase = 'idle'
    },
    rollback() {
      drop()
      phase = 'idle'
      add(own.rollback, [])
      tell()
    },
    isWriting: () => phase === 'writing',
    hasChanged: () => hasChanged,
  }
}

/** Statements that wait to be sent together. */
function createWaitingStatements(line: SessionLine) {
  let pending: PendingStatement[] = []
  let isBeginning = false

  function take() {
    const taken = { sent: pending, asked: { steps: pending.map(({ ask }) => ask), isBeginning } }
    pending = []
    isBeginning = false
    return taken
  }

  return {
    add(statement: PlainStatement, values: readonly SqlValue[]): PendingStatement {
      const added = { ask: { ...statement, values }, result: undefined }
      pending.push(added)
      return added
    },
    /** What is sent next does not need what ran on a connection that is gone. */
    markBeginning(): void {
      isBeginning = true
    },
    drop: () => void take(),
    flush(): boolean {
      const { sent, asked } = take()
      if (sent.length === 0) return false
      const results = line.ask(asked)
      for (const [at, each] of sent.entries()) each.result = results[at]
      return true
    },
    /** Sends them, and waits for no answer. */
    tell: () => line.tell(take().asked),
  }
}

function createAnswerWait(
  flush: () => boolean,
  suspend: () => void,
): Pick<StatementSession, 'resultOf' | 'lateResultOf'> {
  function resultOf(each: PendingStatement): StepResult {
    if (!each.result) suspend()
    if (!each.result) flush()
    if (!each.result) throw new StatementFailed('its transaction was undone')
    return each.result
  }

  return {
    resultOf,
    lateResultOf(pending) {
      try {
        return resultOf(pending)
      } catch (error) {
        // What the server refuses by now is a statement of somebody's; what it is not there for concerns all.
        if (error instanceof Unavailable) throw error
        throw new OperationFailed('a statement failed', { cause: error })
      }
    },
  }
}

let lastId = 0

export function nameStatement(text: string): PlainStatement {
  lastId += 1
  return { id: lastId, text, isReading: /^\s*SELECT\b/.test(text) }
}

const own = {
  begin: nameStatement('BEGIN ISOLATION LEVEL READ COMMITTED'),
  beginReading: nameStatement('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'),
  commit: nameStatement('COMMIT'),
  rollback: nameStatement('ROLLBACK'),
}
