import type { Batch, Database, SqlValue } from '../engine/database.ts'
import { createBatch, mergeBatch } from '../engine/database.ts'
import type { Share, Transactions } from '../engine/transactions.ts'
import { OperationFailed } from '../engine/transactions.ts'
import { createLockstep } from '../together/lockstep.ts'
import type { WaveMember } from '../together/waves.ts'
import { planWaves } from '../together/waves.ts'
import type { BlockingLine } from './connection/blocking-line.ts'
import type { NumberedInsert } from './connection/numbering.ts'
import { createNumbering, readNumberedInsert } from './connection/numbering.ts'
import type { PendingStatement, PlainStatement, StatementSession } from './connection/statement-session.ts'
import { createStatementSession, nameStatement } from './connection/statement-session.ts'
import { isInterference } from './connection/store-errors.ts'
import { createLockKeys } from './locks/lock-keys.ts'
import { createNamedLocks } from './locks/named-locks.ts'
import type { Reserving } from './locks/reserving.ts'
import { createReserving } from './locks/reserving.ts'
import { Outdated } from './outdated.ts'
import { translateQuery } from './sql/translate-query.ts'

export interface PostgresDatabase extends Database {
  readonly transactions: Transactions
  /** Also for what reads first and goes on later, by its promises: only what it reads at once is read together. */
  readTogether<T>(readings: readonly (() => T)[]): readonly T[]
}

interface TransactionOptions {
  /** Where the tables lie. */
  readonly schema: string
  /** Of the tables that the statements of this release are for. */
  readonly version: number
  /** Others have changed them. */
  onOutdated(): void
  readonly hintsOf: (batch: Batch) => readonly (readonly [channel: string, payload: string])[]
}

/**
 * The store's port on PostgreSQL. Transactions of several gateways run at a time, unless they touch the same (decision 0023). What only changes
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
  const keys = createLockKeys(options.schema)
  const reserving = createReserving({ locks: createNamedLocks(keys, add), lockstep, resultOf, numbering })
  const parts = { session, lockstep, numbering, reserving }
  return {
    transactions: createPostgresTransactions(parts, options),
    prepare: createPreparation(parts),
    prepareCheck(sql) {
      const check = nameStatement(`SELECT must_hold(is_so) FROM (${translateQuery(sql)}) AS checked`)
      return (...values) => void add(check, values)
    },
    rowLocks: {
      // Rows that others only refer to (foreign keys) are not left out.
      skipLocked: 'FOR NO KEY UPDATE SKIP LOCKED',
      wait: 'FOR UPDATE',
      isFree: thread => `pg_try_advisory_xact_lock(${keys.threadKeySql(thread)})`,
    },
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
  readonly reserving: Reserving
}

function createPreparation({ session, lockstep, numbering, reserving }: DatabaseParts): Database['prepare'] {
  const { run, resultOf } = session

  function prepareNumbered(numbered: NumberedInsert, statement: PlainStatement) {
    const { table, name } = numbered
    numbering.addTable(numbered)
    const insert = (values: readonly SqlValue[]) => {
      const number = lockstep.takeStep(statement.id, () => {
        const next = reserving.nextNumber(table)
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
    const start = (values: readonly SqlValue[]) => lockstep.takeStep(statement.id, () => run(statement, values))
    return {
      get: (...values) => resultOf(start(values)).rows[0],
      all: (...values) => [...resultOf(start(values)).rows],
      run: (...values) => changesOf(start(values), resultOf),
    }
  }
}

function createPostgresTransactions(
  { session, lockstep, numbering, reserving }: DatabaseParts,
  { version, onOutdated, hintsOf }: TransactionOptions,
): Transactions {
  const { add } = session
  const { locks } = reserving
  let standing: PendingStatement | undefined

  const runWave = createWaveRunning({ session, lockstep, reserving })

  /** What has to be so now that nothing else is asked for. */
  function checkAll({ checks }: Batch): void {
    if (locks.isAlone() || checks.size === 0) return
    locks.waitFor([...checks.keys()])
    for (const check of checks.values()) check()
  }

  return {
    begin({ isDurable, shares, undone = 0 }) {
      session.beginWriting()
      if (!isDurable) add(own.lightly, [])
      locks.begin(shares, undone)
      standing = add(own.version, [])
      numbering.begin(shares?.length ?? 0)
    },
    commit(batch) {
      // Known by now, but to what has asked nothing.
      if ((standing && session.lateResultOf(standing))?.rows[0]?.version !== version) {
        onOutdated()
        throw new Outdated()
      }
      const hints = hintsOf(batch)
      if (!session.hasChanged() && hints.length === 0) return session.endUnchanged()
      checkAll(batch)
      for (const hint of hints) add(own.notify, hint)
      session.commit()
    },
    rollback: session.rollback,
    countTogether: locks.countTogether,
    isWorthAnother: (error, undone) => undone < mostTries && isInterference(error),
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

type RunWave = (wave: readonly WaveMember<Share>[], batch: Batch, results: Map<Share, unknown>) => void

/** Each operation leaves what it does to a batch of its own, which counts once, however often it is run. */
function createWaveRunning({ session, lockstep, reserving }: Omit<DatabaseParts, 'numbering'>): RunWave {
  return (wave, batch, results) => {
    const operations = wave.map(({ member, names }) => ({
      names,
      operation: reserving.enclose(reserve => {
        const hasCompany = lockstep.isRunning() || !reserving.locks.isAlone()
        const own = createBatch({ ...lockstep, reserve, hasCompany }, batch.firstMessages)
        return { result: member.operation(own), own }
      }),
    }))
    const [only] = operations
    const ended = operations.length === 1 && only ? [only.operation()] : lockstep.run(operations, session.flush)
    for (const [at, { member }] of wave.entries()) {
      const { result, own } = ended[at] ?? {}
      if (own) mergeBatch(batch, own)
      results.set(member, result)
    }
  }
}

/** The last of these tries keeps all others out. */
const mostTries = 4

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
  version: nameStatement('SELECT version FROM store_version'),
  notify: nameStatement('SELECT pg_notify($1, $2)'),
}
