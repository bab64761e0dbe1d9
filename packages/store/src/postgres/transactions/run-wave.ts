// Runs the operations of a wave side by side, so that their statements share round trips.
import type { Operation } from '../../sql/operation.ts'
import { toOperation } from '../../sql/operation.ts'
import type { Batch, WriteOperation } from '../../transaction/batch.ts'
import { createBatch } from '../../transaction/batch.ts'

import type { StatementSession } from '../connection/statement-session.ts'
import type { OperationReservations } from '../locks/name-reservations.ts'
import type { NamedLocks } from '../locks/named-locks.ts'
import type { OperationContext, OperationScope } from '../operation-context.ts'
import type { WaveMember } from './waves.ts'

interface WrittenOperation {
  readonly operation: WriteOperation<unknown>
}

/** The session and locks that the operations of a transaction share. */
export interface WaveContext {
  readonly session: StatementSession
  readonly locks: Pick<NamedLocks, 'isExclusive'>
  openReservations(): OperationReservations
}

/** Properties of one attempt to run a transaction. */
export interface TransactionAttempt {
  readonly batch: Batch
  readonly failedAttempts: number
  /** True if the transaction of the operations was undone. No turn begins within this one. */
  readonly isAgain: boolean
}

/** The result of an operation, and the batch of its own. */
interface WaveResult<Member> {
  readonly member: Member
  readonly result: unknown
  readonly ownBatch: Batch
}

interface RunningOperation<Member> {
  readonly member: Member
  readonly names: readonly string[]
  readonly ownBatch: Batch
  readonly context: OperationContext
  operation: Operation<unknown> | undefined
  outcome: { readonly result: unknown } | 'alone' | undefined
}

/** Ends an operation that must run alone. A new error each time would cost a stack trace. */
const mustRunAlone = new Error('an operation must run alone')

/**
 * Runs operations to their end. An operation that must stand alone runs again after the others.
 * @throws the errors of an operation or of its statements
 */
export async function runWave<Member extends WrittenOperation>(
  scope: OperationScope,
  shared: WaveContext,
  { members, attempt }: { readonly members: readonly WaveMember<Member>[]; readonly attempt: TransactionAttempt },
): Promise<readonly WaveResult<Member>[]> {
  const reservedBy = new Map<string, RunningOperation<Member>>()
  const isAlone = members.length === 1
  const operations = members.map(({ member, names }) =>
    prepareOperation(shared, { member, names, attempt, isAlone, reservedBy }),
  )
  for (const operation of operations) for (const name of operation.names) reservedBy.set(name, operation)
  await runToEnd(scope, shared.session, operations)
  const results: WaveResult<Member>[] = []
  for (const { member, outcome, ownBatch } of operations) {
    if (typeof outcome === 'object') results.push({ member, result: outcome.result, ownBatch })
    else results.push(...(await runWave(scope, shared, { members: [{ member, names: [] }], attempt })))
  }
  return results
}

interface OperationOptions<Member> extends WaveMember<Member> {
  readonly attempt: TransactionAttempt
  readonly isAlone: boolean
  readonly reservedBy: Map<string, RunningOperation<Member>>
}

function prepareOperation<Member extends WrittenOperation>(
  { session, locks, openReservations }: WaveContext,
  { member, names, attempt, isAlone, reservedBy }: OperationOptions<Member>,
): RunningOperation<Member> {
  const { lock, nextNumber } = openReservations()
  // Work may be inserted with its lease only if the end of the transaction checks the leases of other gateways. An exclusive transaction does not run this check.
  const leasesNew = attempt.failedAttempts === 0 && !locks.isExclusive()
  const company = {
    hasCompany: !isAlone || !locks.isExclusive(),
    leasesNew,
    continuesTurns: leasesNew && !attempt.isAgain,
    *reserve(name: string) {
      // Another operation of the wave that has reserved the name must end first.
      for (let holder = reservedBy.get(name); holder && holder !== running && !holder.outcome; ) {
        yield
        holder = reservedBy.get(name)
      }
      reservedBy.set(name, running)
      lock(name)
    },
    standAlone() {
      if (!isAlone) throw mustRunAlone
    },
  }
  const running: RunningOperation<Member> = {
    member,
    names,
    ownBatch: createBatch(company, attempt.batch),
    context: { session, nextNumber },
    operation: undefined,
    outcome: undefined,
  }
  return running
}

async function runToEnd<Member extends WrittenOperation>(
  scope: OperationScope,
  { flush }: Pick<StatementSession, 'flush'>,
  operations: readonly RunningOperation<Member>[],
): Promise<void> {
  for (let unfinished = operations; ; ) {
    const waiting = unfinished.filter(operation => !runOn(scope, operation))
    if (waiting.length === 0) return
    const hasSent = await flush()
    if (!hasSent && waiting.length === unfinished.length) throw new Error('operations wait for each other')
    unfinished = waiting
  }
}

/** Runs an operation until it waits. Returns true if it has ended. */
function runOn<Member extends WrittenOperation>(scope: OperationScope, running: RunningOperation<Member>): boolean {
  const { member, ownBatch, context } = running
  return scope.enter(context, () => {
    try {
      running.operation ??= toOperation(member.operation(ownBatch))
      const { done, value } = running.operation.next()
      if (done) running.outcome = { result: value }
    } catch (error) {
      if (error !== mustRunAlone) throw error
      running.outcome = 'alone'
    }
    return running.outcome !== undefined
  })
}
