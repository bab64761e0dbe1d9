// Runs operations together in one transaction of PostgreSQL.
import type { Sql } from '../../sql/sql.ts'
import { AnswerFailed, OperationFailed } from '../../sqlite/write/transactions.ts'
import type { Batch, WriteOperation } from '../../transaction/batch.ts'
import { createBatch, mergeBatch } from '../../transaction/batch.ts'
import { continueTurns, takeAnswers } from '../../transaction/continuations.ts'
import { writeTurns } from '../../transaction/unwritten-turns.ts'
import { createTotalsWriter } from '../../transaction/write-totals.ts'
import type { WriterHooks, WriteTerms } from '../../transaction/writer.ts'
import { createLostConnections } from '../connection/lost-connection.ts'
import { createRowNumbering } from '../connection/numbering.ts'
import type { ConnectionPool } from '../connection/pool.ts'
import type { StatementSession } from '../connection/statement-session.ts'
import { createStatement, createStatementCache, openStatementSession } from '../connection/statement-session.ts'
import { isInterference } from '../connection/store-errors.ts'
import type { LockKeys } from '../locks/lock-keys.ts'
import { createNameReservations } from '../locks/name-reservations.ts'
import type { NamedLocks } from '../locks/named-locks.ts'
import { createNamedLocks } from '../locks/named-locks.ts'
import type { DatabaseDeps, OperationScope } from '../operation-context.ts'
import { OutdatedReleaseError } from '../outdated-release.ts'
import type { TransactionAttempt, WaveContext } from './run-wave.ts'
import { runWave } from './run-wave.ts'
import type { WaveMember } from './waves.ts'
import { planWaves } from './waves.ts'

export interface TransactionOptions {
  /** The schema that contains the tables. */
  readonly schema: string
  /** The version of the tables for which the statements of this release are written. */
  readonly version: number
  /** Runs if a newer release has changed the tables. */
  onOutdated(): void
}

/** An operation of a transaction, with the names that it locks. An operation without names may change any row. */
export interface TransactionWrite extends Pick<WriteTerms, 'sparesTurns'> {
  readonly operation: WriteOperation<unknown>
  readonly names: readonly string[] | undefined
  readonly isLast: boolean
  readonly isDurable: boolean
}

/**
 * Runs operations in one transaction. In a retry, no turn begins within the transaction.
 * @throws OperationFailed if an operation failed, AnswerFailed if an answer of a turn within the transaction may be the reason, Unavailable, OutdatedReleaseError
 */
export type RunWrites = (
  shares: readonly TransactionWrite[],
  isRetry?: boolean,
) => Promise<{ readonly results: readonly unknown[]; readonly batch: Batch }>

interface TransactionDeps extends DatabaseDeps {
  readonly db: Sql
  readonly pool: Pick<ConnectionPool, 'acquire'>
  readonly keys: LockKeys
}

/** The maximum number of retries after interference. The last retries run exclusively (`createNamedLocks`). */
const maxRetries = 4

function createRetryPolicy() {
  const losses = createLostConnections()
  let failedAttempts = 0
  return {
    /** Counts the attempts that failed because of other transactions. */
    countFailedAttempts: () => failedAttempts,
    mayRetry(error: unknown, { isEnding }: Pick<StatementSession, 'isEnding'>): boolean {
      if (!isInterference(error)) return losses.mayRetry(error, isEnding())
      failedAttempts += 1
      return failedAttempts <= maxRetries
    },
  }
}

export function createTransactions(
  deps: TransactionDeps,
  { onUndone, onCommitted, ...options }: TransactionOptions & Pick<WriterHooks, 'onUndone' | 'onCommitted'>,
): RunWrites {
  const runAttempt = createAttempt(deps, options)
  return async (shares, isAgain = false) => {
    const requestedNames = new Set<string>()
    const retryPolicy = createRetryPolicy()
    for (;;) {
      const context = openWriteContext(deps, requestedNames)
      const batch = createBatch()
      try {
        const results = await runAttempt(context, shares, {
          batch,
          failedAttempts: retryPolicy.countFailedAttempts(),
          isAgain,
        })
        onCommitted?.(batch)
        return { results, batch }
      } catch (error) {
        context.session.rollback()
        onUndone?.(batch, context.session.isEnding() && !isInterference(error))
        if (!retryPolicy.mayRetry(error, context.session)) throw describeFailure(error, batch)
      }
    }
  }
}

/** Returns the error for the callers of a transaction. Statements of an answer may fail as late as at the commit. */
function describeFailure(error: unknown, { continuations }: Batch): unknown {
  const isOfAnswers = error instanceof OperationFailed && continuations.length > 0
  return isOfAnswers ? new AnswerFailed('Cannot commit: an answer cannot be stored', { cause: error.cause }) : error
}

/** The context of all operations of a transaction. */
interface WriteContext extends WaveContext {
  readonly locks: NamedLocks
  begin(shares: readonly TransactionWrite[], failedAttempts: number): void
}

/** Opens the context of one attempt. `requestedNames` are the names that earlier attempts requested while they ran. */
function openWriteContext({ pool, keys, sequences }: TransactionDeps, requestedNames: Set<string>): WriteContext {
  const session = openStatementSession(pool, () => 'writing')
  const { add } = session
  const numbering = createRowNumbering(sequences, (text, values) => add(getStatement(text), values))
  const locks = createNamedLocks(keys, add, requestedNames)
  return {
    session,
    locks,
    openReservations: createNameReservations(locks, numbering),
    begin(shares, failedAttempts) {
      if (!shares.some(({ isDurable }) => isDurable)) add(transactionStatements.relaxDurability, [])
      const names = shares.every(share => share.names) ? shares.flatMap(each => each.names ?? []) : undefined
      locks.begin(names, failedAttempts)
      numbering.begin(shares.length)
    },
  }
}

type RunAttempt = (
  context: WriteContext,
  shares: readonly TransactionWrite[],
  attempt: TransactionAttempt,
) => Promise<readonly unknown[]>

function createAttempt({ db, scope }: TransactionDeps, { version, onOutdated }: TransactionOptions): RunAttempt {
  const writeTotals = createTotalsWriter(db)
  const { runWaves, runAnswers } = createWaves(scope, (context, batch) =>
    runStatements(context, () => writeTurns(batch)),
  )

  /** Runs statements of the transaction itself. */
  function runStatements({ session, openReservations }: WriteContext, run: () => void): void {
    scope.enter({ session, nextNumber: openReservations().nextNumber }, run)
  }

  /** Checks all conditions that must be true at the end of the transaction, after all other statements. */
  function checkAll(context: WriteContext, { checks }: Batch): void {
    const { locks } = context
    if (locks.isExclusive() || checks.size === 0) return
    locks.waitFor([...checks.keys()])
    runStatements(context, () => {
      for (const check of checks.values()) check()
    })
  }

  return async (context, shares, attempt) => {
    const { batch, failedAttempts } = attempt
    context.begin(shares, failedAttempts)
    const { session } = context
    const versionQuery = session.add(transactionStatements.version, [])
    const results = await runWaves(context, shares, attempt)
    if (batch.continuations.length > 0) {
      await new Promise<void>(resolve => continueTurns(batch, resolve))
      await runAnswers(context, attempt)
    }
    runStatements(context, () => {
      writeTurns(batch)
      writeTotals(batch)
    })
    // The version has arrived already if any operation has sent a query.
    if (!versionQuery.result) await session.flushLast()
    if (versionQuery.result?.rows[0]?.version !== version) {
      onOutdated()
      throw new OutdatedReleaseError()
    }
    if (!session.hasChanged()) {
      await session.endUnchanged()
      return results
    }
    checkAll(context, batch)
    await session.commit()
    return results
  }
}

interface WaveRuns {
  readonly runWaves: RunAttempt
  /** Stores the answers of the turns that have ended within the transaction. They change only threads that the transaction has locked. */
  runAnswers(context: WriteContext, attempt: TransactionAttempt): Promise<void>
}

/** Creates the functions that run operations in waves, and add what they produce to the batch of the transaction. */
function createWaves(scope: OperationScope, writeRows: (context: WriteContext, batch: Batch) => void): WaveRuns {
  async function runMembers<Member extends Pick<TransactionWrite, 'operation'>>(
    context: WriteContext,
    wave: { readonly members: readonly WaveMember<Member>[]; readonly attempt: TransactionAttempt },
  ) {
    const outcomes = await runWave(scope, context, wave)
    for (const { ownBatch } of outcomes) mergeBatch(wave.attempt.batch, ownBatch)
    return outcomes
  }

  async function failAsOperation<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run()
    } catch (error) {
      throw new OperationFailed('Cannot commit: an operation of the transaction failed', { cause: error })
    }
  }

  return {
    runWaves: (context, shares, attempt) =>
      failAsOperation(async () => {
        const results = new Map<unknown, unknown>()
        for (const members of planWaves(shares)) {
          if (!members.every(({ member }) => member.sparesTurns)) writeRows(context, attempt.batch)
          for (const { member, result } of await runMembers(context, { members, attempt })) results.set(member, result)
        }
        return shares.map(share => results.get(share))
      }),
    async runAnswers(context, attempt) {
      const members = takeAnswers(attempt.batch).map(operation => ({ member: { operation }, names: [] }))
      if (members.length > 0) await failAsOperation(() => runMembers(context, { members, attempt }))
    },
  }
}

const getStatement = createStatementCache()

const transactionStatements = {
  relaxDurability: createStatement('SET LOCAL synchronous_commit = off'),
  version: createStatement('SELECT version FROM store_version'),
}
