import type { Batch } from '../engine/batch.ts'
import { createBatch, mergeBatch } from '../engine/batch.ts'
import type { Database, SqlValue } from '../engine/database.ts'
import type { Share, Transactions } from '../engine/transactions.ts'
import { OperationFailed } from '../engine/transactions.ts'
import { createLockstep } from '../together/lockstep.ts'
import type { WaveMember } from '../together/waves.ts'
import { planWaves } from '../together/waves.ts'
import type { BlockingLine } from './connection/blocking-line.ts'
import type { NumberedInsert } from './connection/numbering.ts'
import { createNumbering, readInsertedTable, readNumberedInsert } from './connection/numbering.ts'
import type { PendingStatement, PlainStatement, StatementSession } from './connection/statement-session.ts'
import { createStatementSession, nameStatement } from './connection/statement-session.ts'
import { Outdated } from './outdated.ts'
import { translateQuery } from './sql/translate-query.ts'

export interface PostgresDatabase extends Database {
  readonly transactions: Transactions
  /** Also for what reads first and goes on later, by its promises: only what it reads at once is read together. */
  readTogether<T>(readings: readonly (() => T)[]): readonly T[]
}

interface TransactionOptions {
  readonly lock: number
  /** Of the tables that the statements of this release are for. */
  readonly version: number
  /** Others have changed them. */
  onOutdated(): void
  readonly hintsOf: (batch: Batch) => readonly (readonly [channel: string, payload: string])[]
}

/**
 * The store's port on PostgreSQL. Writers of one database go one after another, as on SQLite: `lock` is theirs (decision 0023). What only changes
 * rows is sent with what is asked next.
 */
export function openPostgresDatabase(
  line: Pick<BlockingLine, 'ask' | 'tell'>,
  options: TransactionOptions,
): PostgresDatabase {
  const lockstep = createLockstep()
  const session = createStatementSession(line, lockstep.suspend)
  const nameOnce = createNames()
  const { add, resultOf, flush } = session
  const numbering = createNumbering({ add: (text, values) => add(nameOnce(text), values), resultOf })
  const parts = { session, lockstep, numbering }
  return {
    transactions: createPostgresTransactions(parts, options),
    prepare: createPreparation(parts),
    readTogether: readings =>
      lockstep.isRunning()
        ? lockstep.together(readings)
        : lockstep.run(
            readings.map(operation => ({ operation })),
            flush,
          ),
    exec: sql => void resultOf(session.run(nameStatement(sql), [])),
    get isTransaction() {
      return session.isWriting()
    },
    close: () => void flush(),
  }
}

interface DatabaseParts {
  readonly session: StatementSession
  readonly lockstep: ReturnType<typeof createLockstep>
  readonly numbering: ReturnType<typeof createNumbering>
}

function createPreparation({ session, lockstep, numbering }: DatabaseParts): Database['prepare'] {
  const { run, resultOf } = session

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

  return sql => {
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
  }
}

function createPostgresTransactions(
  { session, lockstep, numbering }: DatabaseParts,
  { lock, version, onOutdated, hintsOf }: TransactionOptions,
): Transactions {
  const { add, flush } = session
  let standing: PendingStatement | undefined

  /** Each leaves what it does to a batch of its own, which counts once, however often it is run. */
  function runWave(wave: readonly WaveMember<Share>[], batch: Batch, results: Map<Share, unknown>): void {
    const operations = wave.map(({ member, names }) => ({
      names,
      operation() {
        const own = createBatch({ ...lockstep, hasCompany: lockstep.isRunning() }, batch.firstMessages)
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
    begin(isDurable) {
      session.beginWriting()
      if (!isDurable) add(own.lightly, [])
      add(own.lock, [lock])
      standing = add(own.version, [])
      numbering.begin()
    },
    commit(batch) {
      // Known by now, but to what has asked nothing.
      if ((standing && session.lateResultOf(standing))?.rows[0]?.version !== version) {
        onOutdated()
        throw new Outdated()
      }
      const hints = hintsOf(batch)
      if (!session.hasChanged() && hints.length === 0) return session.endUnchanged()
      numbering.end()
      for (const hint of hints) add(own.notify, hint)
      session.commit()
    },
    rollback: session.rollback,
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
}

/** Looked at, it waits for the statement to have run; most are not. */
function changesOf(pending: PendingStatement, resultOf: StatementSession['resultOf']): { readonly changes: number } {
  return {
    get changes() {
      return resultOf(pending).changes
    },
  }
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

const own = {
  lightly: nameStatement('SET LOCAL synchronous_commit = off'),
  lock: nameStatement('SELECT pg_advisory_xact_lock($1)'),
  version: nameStatement('SELECT version FROM store_version'),
  notify: nameStatement('SELECT pg_notify($1, $2)'),
}
