import { createBooking } from '../../engine/booking.ts'
import type { Batch, Database } from '../../engine/database.ts'
import { createBatch, mergeBatch } from '../../engine/database.ts'
import { OperationFailed } from '../../engine/transactions.ts'
import type { WriterHooks } from '../../engine/writer.ts'
import type { WaveMember } from '../../together/waves.ts'
import { planWaves } from '../../together/waves.ts'
import { createLosses } from '../connection/losses.ts'
import { createNumbering } from '../connection/numbering.ts'
import type { LinePool } from '../connection/pool.ts'
import type { StatementSession } from '../connection/statement-session.ts'
import { createNames, nameStatement, openStatementSession } from '../connection/statement-session.ts'
import { isInterference } from '../connection/store-errors.ts'
import type { LockKeys } from '../locks/lock-keys.ts'
import { createNamedLocks } from '../locks/named-locks.ts'
import type { Reserving } from '../locks/reserving.ts'
import { createReserving } from '../locks/reserving.ts'
import { Outdated } from '../outdated.ts'
import type { DatabaseParts, StatementPlace } from '../place.ts'

export interface TransactionOptions {
  /** Where the tables lie. */
  readonly schema: string
  /** Of the tables that the statements of this release are for. */
  readonly version: number
  /** Others have changed them. */
  onOutdated(): void
  readonly hintsOf: (batch: Batch) => readonly (readonly [channel: string, payload: string])[]
}

/** What a transaction consists of: an operation, and the names of what it touches; undefined: anything. */
export interface Share {
  readonly operation: (batch: Batch) => unknown
  readonly names: readonly string[] | undefined
  readonly isLast: boolean
  readonly isDurable: boolean
}

/** Runs operations in one transaction. @throws OperationFailed when one of them failed, and Unavailable, Outdated */
export type WriteTogether = (
  shares: readonly Share[],
) => Promise<{ readonly results: readonly unknown[]; readonly batch: Batch }>

interface TransactionDeps extends DatabaseParts {
  readonly db: Database
  readonly pool: Pick<LinePool, 'hold'>
  readonly keys: LockKeys
}

/** The last of these tries keeps all others out. */
const mostTries = 4

function createTries() {
  const losses = createLosses()
  let undone = 0
  return {
    /** How often others were in the way. */
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
      const place = openPlace(deps, wanted)
      const batch = createBatch()
      try {
        const results = await runAll(place, shares, { batch, undone: tries.countUndone() })
        onCommitted?.(batch)
        return { results, batch }
      } catch (error) {
        place.session.rollback()
        onUndone?.(batch, place.session.isEnding() && !isInterference(error))
        if (!tries.mayTryAgain(error, place.session)) throw error
      }
    }
  }
}

/** Where the operations of a transaction ask. */
interface WritingPlace extends StatementPlace {
  readonly reserving: Reserving
  begin(shares: readonly Share[], undone: number): void
}

/** `wanted`: what the tries before have asked for while they ran. */
function openPlace({ pool, lockstep, keys, sequences, resultOf }: TransactionDeps, wanted: Set<string>): WritingPlace {
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

type RunAttempt = (place: WritingPlace, shares: readonly Share[], attempt: Attempt) => Promise<readonly unknown[]>

function createAttempt(
  { db, lockstep }: TransactionDeps,
  { version, onOutdated, hintsOf }: TransactionOptions,
): RunAttempt {
  const book = createBooking(db)
  const runWaves = createWaves(lockstep)

  async function runOne(place: WritingPlace, operation: () => void): Promise<void> {
    await lockstep.run([{ operation }], { place, answer: place.session.flush })
  }

  /** What has to be so now that nothing else is asked for. */
  async function checkAll(place: WritingPlace, { checks }: Batch): Promise<void> {
    const { locks } = place.reserving
    if (locks.isAlone() || checks.size === 0) return
    locks.waitFor([...checks.keys()])
    await runOne(place, () => {
      for (const check of checks.values()) check()
    })
  }

  return async (place, shares, tried) => {
    const { batch, undone } = tried
    place.begin(shares, undone)
    const { session } = place
    const standing = session.add(own.version, [])
    const results = await runWaves(place, shares, tried)
    await runOne(place, () => book(batch))
    // Known by now, but to what has asked nothing.
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
    await checkAll(place, batch)
    for (const hint of hints) session.add(own.notify, hint)
    await session.commit()
    return results
  }
}

const idOfDecision = -4

/** Each operation leaves what it does to a batch of its own, which counts once, however often it is run. */
function createWaves(lockstep: TransactionDeps['lockstep']): RunAttempt {
  const { standAlone } = lockstep
  const operationTools = { standAlone, once: <T>(decide: () => T) => lockstep.takeStep(idOfDecision, decide) }

  async function runWave(place: WritingPlace, wave: readonly WaveMember<Share>[], { batch, undone }: Attempt) {
    const operations = wave.map(({ member, names }) => ({
      names,
      operation: place.reserving.enclose(reserve => {
        const isAlone = place.reserving.locks.isAlone()
        const hasCompany = lockstep.hasCompany() || !isAlone
        // Only beside others it is checked at the end whether theirs leave room for it.
        const leasesNew = undone === 0 && !isAlone
        const ownBatch = createBatch({ ...{ hasCompany, leasesNew, reserve }, ...operationTools }, batch)
        return { result: member.operation(ownBatch), ownBatch, member }
      }),
    }))
    const ended = await lockstep.run(operations, { place, answer: place.session.flush })
    for (const { ownBatch } of ended) mergeBatch(batch, ownBatch)
    return ended
  }

  return async (place, shares, tried) => {
    try {
      const results = new Map<Share, unknown>()
      for (const wave of planWaves(shares)) {
        for (const { member, result } of await runWave(place, wave, tried)) results.set(member, result)
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
