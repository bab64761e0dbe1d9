// Runs operations together in one transaction of PostgreSQL.

import type { WaveMember } from '../../batching/waves.ts'
import { planWaves } from '../../batching/waves.ts'
import type { Database } from '../../sql/sql.ts'
import { AnswerFailed, OperationFailed } from '../../sqlite/write/transactions.ts'
import type { Batch } from '../../transaction/batch.ts'
import { createBatch, mergeBatch } from '../../transaction/batch.ts'
import { continueTurns, takeAnswers } from '../../transaction/continuations.ts'
import { createTotalsWriter } from '../../transaction/write-totals.ts'
import type { WriterHooks } from '../../transaction/writer.ts'
import { createLostConnections } from '../connection/lost-connection.ts'
import { createRowNumbering } from '../connection/numbering.ts'
import type { ConnectionPool } from '../connection/pool.ts'
import type { StatementSession } from '../connection/statement-session.ts'
import { createStatement, createStatementCache, openStatementSession } from '../connection/statement-session.ts'
import { isInterference } from '../connection/store-errors.ts'
import type { LockKeys } from '../locks/lock-keys.ts'
import type { NameReservations } from '../locks/name-reservations.ts'
import { createNameReservations } from '../locks/name-reservations.ts'
import { createNamedLocks } from '../locks/named-locks.ts'
import type { DatabaseDeps, OperationContext } from '../operation-context.ts'
import { OutdatedReleaseError } from '../outdated-release.ts'

export interface TransactionOptions {
  /** The schema that contains the tables. */
  readonly schema: string
  /** The version of the tables for which the statements of this release are written. */
  readonly version: number
  /** Runs if a newer release has changed the tables. */
  onOutdated(): void
  readonly formatNotices: (batch: Batch) => readonly (readonly [channel: string, payload: string])[]
}

/** An operation of a transaction, with the names that it locks. An operation without names may change any row. */
export interface TransactionWrite {
  readonly operation: (batch: Batch) => unknown
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
  readonly db: Database
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

/** The context in which operations of a transaction send statements. */
interface WriteContext extends OperationContext {
  readonly reservations: NameReservations
  begin(shares: readonly TransactionWrite[], failedAttempts: number): void
}

/** Opens the context of one attempt. `requestedNames` are the names that earlier attempts requested while they ran. */
function openWriteContext(
  { pool, runner, keys, sequences, readResult }: TransactionDeps,
  requestedNames: Set<string>,
): WriteContext {
  const session = openStatementSession(pool, () => 'writing')
  const { add } = session
  const numbering = createRowNumbering(sequences, {
    queueQuery: (text, values) => add(getStatement(text), values),
    readResult,
  })
  const reservations = createNameReservations({
    locks: createNamedLocks(keys, add, requestedNames),
    runner,
    readResult,
    numbering,
  })
  return {
    reservations,
    nextNumber: reservations.nextNumber,
    session,
    begin(shares, failedAttempts) {
      if (!shares.some(({ isDurable }) => isDurable)) add(transactionStatements.relaxDurability, [])
      const names = shares.every(share => share.names) ? shares.flatMap(each => each.names ?? []) : undefined
      reservations.locks.begin(names, failedAttempts)
      numbering.begin(shares.length)
    },
  }
}

interface TransactionAttempt {
  readonly batch: Batch
  readonly failedAttempts: number
  readonly isAgain: boolean
}

type RunAttempt = (
  context: WriteContext,
  shares: readonly TransactionWrite[],
  attempt: TransactionAttempt,
) => Promise<readonly unknown[]>

function createAttempt(
  { db, runner }: TransactionDeps,
  { version, onOutdated, formatNotices }: TransactionOptions,
): RunAttempt {
  const writeTotals = createTotalsWriter(db)
  const { runWaves, runAnswers } = createWaves(runner)

  async function runOperation(context: WriteContext, operation: () => void): Promise<void> {
    await runner.run([{ operation }], { context, sendPending: context.session.flush })
  }

  /** Checks all conditions that must be true at the end of the transaction, after all other statements. */
  async function checkAll(context: WriteContext, { checks }: Batch): Promise<void> {
    const { locks } = context.reservations
    if (locks.isExclusive() || checks.size === 0) return
    locks.waitFor([...checks.keys()])
    await runOperation(context, () => {
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
    await runOperation(context, () => writeTotals(batch))
    // The version has arrived already if any operation has sent a query.
    if (!versionQuery.result) await session.flushLast()
    if (versionQuery.result?.rows[0]?.version !== version) {
      onOutdated()
      throw new OutdatedReleaseError()
    }
    const payloads = formatNotices(batch)
    if (!session.hasChanged() && payloads.length === 0) {
      await session.endUnchanged()
      return results
    }
    await checkAll(context, batch)
    for (const payload of payloads) session.add(transactionStatements.notify, payload)
    await session.commit()
    return results
  }
}

const decisionStepId = -4

interface WaveRuns {
  readonly runWaves: RunAttempt
  /** Stores the answers of the turns that have ended within the transaction. They change only threads that the transaction has locked. */
  runAnswers(context: WriteContext, attempt: TransactionAttempt): Promise<void>
}

/** Creates the functions that run operations in waves. Each operation has its own batch, which counts once even if the operation runs several times. */
function createWaves(runner: TransactionDeps['runner']): WaveRuns {
  const { runAlone, runPart } = runner
  const operationTools = {
    standAlone: runAlone,
    once: <T>(decide: () => T) => runner.nextStep(decisionStepId, decide),
    runOnce: runPart,
  }

  async function runWave(
    context: WriteContext,
    members: readonly WaveMember<Pick<TransactionWrite, 'operation'>>[],
    { batch, failedAttempts, isAgain }: TransactionAttempt,
  ) {
    const operations = members.map(({ member, names }) => ({
      names,
      operation: context.reservations.createOperation(reserve => {
        const isExclusive = context.reservations.locks.isExclusive()
        const hasCompany = runner.isBatched() || !isExclusive
        // Work may be inserted with its lease only if the end of the transaction checks the leases of other gateways. An exclusive transaction does not run this check.
        const leasesNew = failedAttempts === 0 && !isExclusive
        const company = { hasCompany, leasesNew, continuesTurns: leasesNew && !isAgain, reserve }
        const ownBatch = createBatch({ ...company, ...operationTools }, batch)
        return { result: member.operation(ownBatch), ownBatch, member }
      }),
    }))
    const outcomes = await runner.run(operations, { context, sendPending: context.session.flush })
    for (const { ownBatch } of outcomes) mergeBatch(batch, ownBatch)
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
        for (const wave of planWaves(shares)) {
          for (const { member, result } of await runWave(context, wave, attempt)) results.set(member, result)
        }
        return shares.map(share => results.get(share))
      }),
    async runAnswers(context, attempt) {
      const answers = takeAnswers(attempt.batch).map(operation => ({ member: { operation }, names: [] }))
      if (answers.length > 0) await failAsOperation(() => runWave(context, answers, attempt))
    },
  }
}

const getStatement = createStatementCache()

const transactionStatements = {
  relaxDurability: createStatement('SET LOCAL synchronous_commit = off'),
  version: createStatement('SELECT version FROM store_version'),
  notify: createStatement('SELECT pg_notify($1, $2)'),
}
