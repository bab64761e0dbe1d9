// Runs operations together in one transaction of PostgreSQL.
import type { Database } from '../../sql/sql.ts'
import { OperationFailed } from '../../sqlite/write/transactions.ts'
import type { WaveMember } from '../../together/waves.ts'
import { planWaves } from '../../together/waves.ts'
import type { Batch } from '../../transaction/batch.ts'
import { createBatch, mergeBatch } from '../../transaction/batch.ts'
import { createBooking } from '../../transaction/write-totals.ts'
import type { WriterHooks } from '../../transaction/writer.ts'
import { createLostConnections } from '../connection/lost-connection.ts'
import { createNumbering } from '../connection/numbering.ts'
import type { LinePool } from '../connection/pool.ts'
import type { StatementSession } from '../connection/statement-session.ts'
import { createNames, nameStatement, openStatementSession } from '../connection/statement-session.ts'
import { isInterference } from '../connection/store-errors.ts'
import type { LockKeys } from '../locks/lock-keys.ts'
import { createNamedLocks } from '../locks/named-locks.ts'
import type { Reserving } from '../locks/reserving.ts'
import { createReserving } from '../locks/reserving.ts'
import type { DatabaseDeps, OperationContext } from '../operation-context.ts'
import { Outdated } from '../stale-cache.ts'

export interface TransactionOptions {
  /** The schema in which the tables lie. */
  readonly schema: string
  /** The version of the tables for which the statements of this release are written. */
  readonly version: number
  /** Runs if another release has changed the tables. */
  onOutdated(): void
  readonly hintsOf: (batch: Batch) => readonly (readonly [channel: string, payload: string])[]
}

/** A part of a transaction: an operation, and the names of what it touches. Without names it may touch anything. */
export interface Share {
  readonly operation: (batch: Batch) => unknown
  readonly names: readonly string[] | undefined
  readonly isLast: boolean
  readonly isDurable: boolean
}

/** Runs operations in one transaction. @throws OperationFailed if one of them failed, and Unavailable, Outdated */
export type WriteTogether = (
  shares: readonly Share[],
) => Promise<{ readonly results: readonly unknown[]; readonly batch: Batch }>

interface TransactionDeps extends DatabaseDeps {
  readonly db: Database
  readonly pool: Pick<LinePool, 'hold'>
  readonly keys: LockKeys
}

/** The most retries after interference. The last of them keep all others out (`createNamedLocks`). */
const mostTries = 4

function createTries() {
  const losses = createLostConnections()
  let undone = 0
  return {
    /** Returns the number of tries that failed because of others. */
    countUndone: () => undone,
    mayTryAgain(error: unknown, { isEnding }: Pick<StatementSession, 'isEnding'>): boolean {
      if (!isInterference(error)) return losses.mayTryAgain(error, isEnding())
      undone += 1
      return undone <= mostTries
    },
  }
}

export function createTransactions(
  deps: TransactionDeps,
  { onUndone, onCommitted, ...options }: TransactionOptions & Pick<WriterHooks, 'onUndone' | 'onCommitted'>,
): WriteTogether {
  const runAll = createAttempt(deps, options)
  return async shares => {
    const wanted = new Set<string>()
    const tries = createTries()
    for (;;) {
      const context = openWriteContext(deps, wanted)
      const batch = createBatch()
      try {
        const results = await runAll(context, shares, { batch, undone: tries.countUndone() })
        onCommitted?.(batch)
        return { results, batch }
      } catch (error) {
        context.session.rollback()
        onUndone?.(batch, context.session.isEnding() && !isInterference(error))
        if (!tries.mayTryAgain(error, context.session)) throw error
      }
    }
  }
}

/** The context in which operations of a transaction ask the server. */
interface WriteContext extends OperationContext {
  readonly reserving: Reserving
  begin(shares: readonly Share[], undone: number): void
}

/** Opens the context of one try. `wanted` has the names that earlier tries requested while they ran. */
function openWriteContext(
  { pool, lockstep, keys, sequences, resultOf }: TransactionDeps,
  wanted: Set<string>,
): WriteContext {
  const session = openStatementSession(pool, () => 'writing')
  const { add } = session
  const numbering = createNumbering(sequences, { add: (text, values) => add(nameOnce(text), values), resultOf })
  const reserving = createReserving({ locks: createNamedLocks(keys, add, wanted), lockstep, resultOf, numbering })
  return {
    reserving,
    nextNumber: reserving.nextNumber,
    session,
    begin(shares, undone) {
      if (!shares.some(({ isDurable }) => isDurable)) add(own.lightly, [])
      const names = shares.every(each => each.names) ? shares.flatMap(each => each.names ?? []) : undefined
      reserving.locks.begin(names, undone)
      numbering.begin(shares.length)
    },
  }
}

interface Attempt {
  readonly batch: Batch
  readonly undone: number
}

type RunAttempt = (context: WriteContext, shares: readonly Share[], attempt: Attempt) => Promise<readonly unknown[]>

function createAttempt(
  { db, lockstep }: TransactionDeps,
  { version, onOutdated, hintsOf }: TransactionOptions,
): RunAttempt {
  const book = createBooking(db)
  const runWaves = createWaves(lockstep)

  async function runOne(context: WriteContext, operation: () => void): Promise<void> {
    await lockstep.run([{ operation }], { place: context, answer: context.session.flush })
  }

  /** Checks all conditions for the end of the transaction, once nothing else is requested. */
  async function checkAll(context: WriteContext, { checks }: Batch): Promise<void> {
    const { locks } = context.reserving
    if (locks.isAlone() || checks.size === 0) return
    locks.waitFor([...checks.keys()])
    await runOne(context, () => {
      for (const check of checks.values()) check()
    })
  }

  return async (context, shares, tried) => {
    const { batch, undone } = tried
    context.begin(shares, undone)
    const { session } = context
    const standing = session.add(own.version, [])
    const results = await runWaves(context, shares, tried)
    await runOne(context, () => book(batch))
    // The version has arrived, unless no operation has asked anything.
    if (!standing.result) await session.flushLast()
    if (standing.result?.rows[0]?.version !== version) {
      onOutdated()
      throw new Outdated()
    }
    const hints = hintsOf(batch)
    if (!session.hasChanged() && hints.length === 0) {
      await session.endUnchanged()
      return results
    }
    await checkAll(context, batch)
    for (const hint of hints) session.add(own.notify, hint)
    await session.commit()
    return results
  }
}

const idOfDecision = -4

/** Creates the run of operations in waves. Each operation has a batch of its own, which counts once, however often the operation runs. */
function createWaves(lockstep: TransactionDeps['lockstep']): RunAttempt {
  const { standAlone } = lockstep
  const operationTools = { standAlone, once: <T>(decide: () => T) => lockstep.takeStep(idOfDecision, decide) }

  async function runWave(context: WriteContext, wave: readonly WaveMember<Share>[], { batch, undone }: Attempt) {
    const operations = wave.map(({ member, names }) => ({
      names,
      operation: context.reserving.enclose(reserve => {
        const isAlone = context.reserving.locks.isAlone()
        const hasCompany = lockstep.hasCompany() || !isAlone
        // A lease in an insert is checked at the end against those of others. That check does not run in an exclusive transaction.
        const leasesNew = undone === 0 && !isAlone
        const ownBatch = createBatch({ ...{ hasCompany, leasesNew, reserve }, ...operationTools }, batch)
        return { result: member.operation(ownBatch), ownBatch, member }
      }),
    }))
    const ended = await lockstep.run(operations, { place: context, answer: context.session.flush })
    for (const { ownBatch } of ended) mergeBatch(batch, ownBatch)
    return ended
  }

  return async (context, shares, tried) => {
    try {
      const results = new Map<Share, unknown>()
      for (const wave of planWaves(shares)) {
        for (const { member, result } of await runWave(context, wave, tried)) results.set(member, result)
      }
      return shares.map(share => results.get(share))
    } catch (error) {
      throw new OperationFailed('an operation failed', { cause: error })
    }
  }
}

const nameOnce = createNames()

const own = {
  lightly: nameStatement('SET LOCAL synchronous_commit = off'),
  version: nameStatement('SELECT version FROM store_version'),
  notify: nameStatement('SELECT pg_notify($1, $2)'),
}
