// Declares the dependencies of a worker's pools, and what all pools do alike.
import type { System } from '@postern/message'
import { LeaseLost, Unavailable } from '@postern/message'
import type { LeaseRequest } from '../../ports/records/work/lease-request.ts'
import type { TurnContext } from '../../ports/turn/turn-context.ts'
import type { LeaseRenewal } from '../lease-renewal.ts'
import type { SendDeps } from '../send.ts'
import type { LostLeases } from '../turns/lost-leases.ts'
import type { RetriedResults } from './retried-results.ts'
import type { WorkPool } from './work-pool.ts'
import type { WorkerOptions, WorkerSystem } from './worker-options.ts'

/** The dependencies of the pools. */
export interface PoolDeps {
  readonly turnContext: Omit<TurnContext, 'results'>
  readonly sendDeps: Omit<SendDeps, 'results'>
  readonly results: RetriedResults
  readonly system: WorkerSystem
  readonly options: WorkerOptions
  isClosed(): boolean
  /** Aborts when running turns must end. */
  readonly abandonSignal: AbortSignal
  readonly leaseRenewal: Pick<LeaseRenewal, 'renewIfDue'>
  readonly lostLeases: LostLeases
}

/** Returns the options that all pools of a worker share. */
export function readPoolOptions({ isClosed, system }: PoolDeps) {
  return { isClosed, onError: (error: unknown) => logFailure(system, error) }
}

/** Leases work after all pending writes and due renewals, because otherwise a worker could lease its own work again. */
export async function leaseWork<Work>(
  { options: { holder, leaseMs }, results, leaseRenewal }: PoolDeps,
  lease: (request: LeaseRequest) => Promise<readonly Work[]>,
  limit: number,
): Promise<readonly Work[]> {
  const retries = results.retryAll()
  if (retries) await retries
  const renewal = leaseRenewal.renewIfDue()
  if (renewal) await renewal
  return lease({ holder, limit, leaseMs })
}

function logFailure(system: Pick<System, 'log'>, error: unknown): void {
  if (error instanceof LeaseLost) system.log.warn({ err: error }, 'lease lost, result discarded')
  else if (error instanceof Unavailable) system.log.warn({ err: error }, 'the store is unavailable')
  else system.log.error({ err: error }, 'work failed; its lease will run out')
}

/** Creates the consumer by which the store uses a pool. `limits` bounds the concurrent work of a group. */
export function createConsumer<Work extends Held, Held>(
  pool: WorkPool<Work, Held>,
  { holder, leaseMs }: Pick<WorkerOptions, 'holder' | 'leaseMs'>,
  limits: Omit<NonNullable<LeaseRequest['shares']>, 'usedByGroup'>,
) {
  return {
    ...{ holder, leaseMs, ...pool },
    beginPoll(isConcurrent: boolean) {
      const { limit, usedByGroup } = pool.beginPoll(isConcurrent)
      return { limit, shares: { ...limits, usedByGroup } }
    },
  }
}
