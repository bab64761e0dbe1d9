import { Unavailable } from '@postern/core'
import type { Batch } from '../engine/batch.ts'
import { createBatch, mergeBatch } from '../engine/batch.ts'
import type { Database, SqlValue } from '../engine/database.ts'
import type { Share, Transactions } from '../engine/transactions.ts'
import { OperationFailed } from '../engine/transactions.ts'
import { createLockstep } from '../together/lockstep.ts'
import type { WaveMember } from '../together/waves.ts'
import { planWaves } from '../together/waves.ts'
import type { BlockingLine } from './connection/blocking-line.ts'
import type { StatementRequest } from './connection/messages.ts'
import type { NumberedInsert } from './connection/numbering.ts'
import { createNumbering, readInsertedTable, readNumberedInsert } from './connection/numbering.ts'
import type { StepResult } from './connection/pipelined-run.ts'
import { StatementFailed } from './connection/store-errors.ts'
import { Outdated } from './outdated.ts'
import { translateQuery } from './sql/translate-query.ts'

type Ask = StatementRequest['steps'][number]

/** A statement that was asked for, and what came of it once it has run. */
interface Pending {
  readonly ask: Ask
  result: StepResult | undefined
}

/** Between `reading` and the end of the turn all is read as it was at one moment, whoever writes meanwhile. */
type Phase = 'idle' | 'reading' | 'writing'

export interface PostgresDatabase extends Database {
  readonly transactions: Transactions
  /** Also for what reads first and goes on later, by its promises: only what it reads at once is read together. */
  readTogether<T>(readings: readonly (() => T)[]): readonly T[]
}

/**
 * The store's port on PostgreSQL. Writers of one database go one after another, as on SQLite: `lock` is theirs (decision 0023). What only changes
 * rows is sent with what is asked next.
 */
export function openPostgresDatabase(
  line: Pick<BlockingLine, 'ask' | 'tell'>,
  {
    lock,
    version,
    onOutdated,
    hintsOf,
  }: {
    readonly lock: number
    /** Of the tables that the statements of this release are for. */
    readonly version: number
    /** Others have changed them. */
    onOutdated(): void
    readonly hintsOf: (batch: Batch) => readonly (readonly [channel: string, payload: string])[]
  },
): PostgresDatabase {
  let phase: Phase = 'idle'
  let pending: Pending[] = []
  let isBeginning = false
  let standing: Pending | undefined
  let hasChanged = false

  function add(statement: PlainStatement, values: readonly SqlValue[]): Pending {
    const added = { ask: { ...statement, values }, result: undefined }
    pending.push(added)
    return added
  }

  function takePending() {
    const taken = { sent: pending, asked: { steps: pending.map(({ ask }) => ask), isBeginning } }
    pending = []
    isBeginning = false
    return taken
  }

  const lockstep = createLockstep()

  /** @returns whether there was anything to ask */
  function flush(): boolean {
    const { sent, asked } = takePending()
    if (sent.length === 0) return false
    const results = line.ask(asked)
    for (const [at, each] of sent.entries()) each.result = results[at]
    return true
  }

  function begin(next: Exclude<Phase, 'idle'>): void {
    if (phase === 'reading') add(own.commit, [])
    phase = next
    hasChanged = false
    isBeginning = true
    add(next === 'reading' ? own.beginReading : own.begin, [])
  }

  function resultOf(each: Pending): StepResult {
    if (!each.result) lockstep.suspend()
    if (!each.result) flush()
    if (!each.result) throw new StatementFailed('its transaction was undone')
    return each.result
  }

  function endReading(): void {
    if (phase === 'reading') endUnchanged()
  }

  /** There is nothing to lose, so nobody waits for it. */
  function endUnchanged(): void {
    phase = 'idle'
    add(own.commit, [])
    line.tell(takePending().asked)
  }

  function run(statement: PlainStatement, values: readonly SqlValue[]): Pending {
    if (phase === 'idle') {
      begin('reading')
      queueMicrotask(endReading)
    }
    if (!statement.isReading) hasChanged = true
    return add(statement, values)
  }

  const nameOnce = createNames()
  const numbering = createNumbering({ add: (text, values) => add(nameOnce(text), values), resultOf })

  function prepareNumbered(numbered: NumberedInsert, statement: PlainStatement) {
    const { table, name } = numbered
    numbering.addTable(numbered)
    const insert = (values: readonly SqlValue[]) => {
      const number = lockstep.takeStep(statement.id, () => {
        const next = numbering.next(table)
        run(statement, [...values, next])
        return next
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

  const transactions: Transactions = {
    begin(isDurable) {
      begin('writing')
      if (!isDurable) add(own.lightly, [])
      add(own.lock, [lock])
      standing = add(own.version, [])
      numbering.begin()
    },
    commit(batch) {
      // Known by now, but to what has asked nothing.
      if (tellLate(() => standing && resultOf(standing).rows[0]?.version) !== version) {
        onOutdated()
        throw new Outdated()
      }
      const hints = hintsOf(batch)
      if (!hasChanged && hints.length === 0) return endUnchanged()
      numbering.end()
      for (const hint of hints) add(own.notify, hint)
      const { tag } = tellLate(() => resultOf(add(own.commit, [])))
      if (tag !== 'COMMIT') throw new StatementFailed(`the server answers COMMIT by ${tag}`)
      phase = 'idle'
    },
    rollback() {
      takePending()
      phase = 'idle'
      add(own.rollback, [])
      line.tell(takePending().asked)
    },
    runAll(shares, batch) {
      try {
        const results = new Map<Share, unknown>()
        for (const wave of planWaves(shares)) runWave(wave, batch, results)
        return shares.map(share => results.get(share))
      } catch (error) {
        throw new OperationFailed('an operation failed', { cause: error })
      }
    },
  }

  /** Each leaves what it does to a batch of its own, which counts once, however often it is run. */
  function runWave(wave: readonly WaveMember<Share>[], batch: Batch, results: Map<Share, unknown>): void {
    const operations = wave.map(({ member, names }) => ({
      names,
      operation() {
        const own = createBatch({ ...lockstep, hasCompany: lockstep.isRunning() })
        return { result: member.operation(own), own }
      },
    }))
    const [only] = operations
    const ended = operations.length === 1 && only ? [only.operation()] : lockstep.run(operations, flush)
    for (const [at, { member }] of wave.entries()) {
      const { result, own } = ended[at] ?? {}
      if (own) mergeBatch(batch, own)
      results.set(member, result)
    }
  }

  return {
    transactions,
    prepare(sql) {
      const numbered = readNumberedInsert(sql)
      const statement = nameStatement(translateQuery(numbered?.sql ?? sql))
      if (numbered) return prepareNumbered(numbered, statement)
      const table = readInsertedTable(sql)
      const start = (values: readonly SqlValue[]) =>
        lockstep.takeStep(statement.id, () => {
          if (table !== undefined) numbering.letGo(table)
          return run(statement, values)
        })
      return {
        get: (...values) => resultOf(start(values)).rows[0],
        all: (...values) => [...resultOf(start(values)).rows],
        run: (...values) => changesOf(start(values), resultOf),
      }
    },
    readTogether: readings =>
      lockstep.isRunning()
        ? lockstep.together(readings)
        : lockstep.run(
            readings.map(operation => ({ operation })),
            flush,
          ),
    exec: sql => void resultOf(run(nameStatement(sql), [])),
    get isTransaction() {
      return phase === 'writing'
    },
    close: () => void flush(),
  }
}

/** What the server refuses by now is a statement of somebody's; what it is not there for concerns all. */
function tellLate<T>(commit: () => T): T {
  try {
    return commit()
  } catch (error) {
    if (error instanceof Unavailable) throw error
    throw new OperationFailed('a statement failed', { cause: error })
  }
}

/** Looked at, it waits for the statement to have run; most are not. */
function changesOf(pending: Pending, resultOf: (pending: Pending) => StepResult): { readonly changes: number } {
  return {
    get changes() {
      return resultOf(pending).changes
    },
  }
}

interface PlainStatement {
  readonly id: number
  readonly text: string
  readonly isReading: boolean
}

/** The same statement for the same text. */
function createNames(): (text: string) => PlainStatement {
  const known = new Map<string, PlainStatement>()
  return text => {
    const statement = known.get(text) ?? nameStatement(text)
    known.set(text, statement)
    return statement
  }
}

let lastId = 0

function nameStatement(text: string): PlainStatement {
  lastId += 1
  return { id: lastId, text, isReading: /^\s*SELECT\b/.test(text) }
}

const own = {
  begin: nameStatement('BEGIN ISOLATION LEVEL READ COMMITTED'),
  beginReading: nameStatement('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'),
  lightly: nameStatement('SET LOCAL synchronous_commit = off'),
  lock: nameStatement('SELECT pg_advisory_xact_lock($1)'),
  version: nameStatement('SELECT version FROM store_version'),
  notify: nameStatement('SELECT pg_notify($1, $2)'),
  commit: nameStatement('COMMIT'),
  rollback: nameStatement('ROLLBACK'),
}
