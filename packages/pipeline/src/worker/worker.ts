// Starts the worker, which runs turns, deliveries and broadcasts concurrently until the gateway stops it.
import { TurnAborted } from '@postern/message'
import type { DeliveryRank } from '../ports/records/work/lease-request.ts'
import type { Turn } from '../ports/records/work/turn.ts'
import type { WorkKind } from '../ports/store/notice-store.ts'
import { workKinds } from '../ports/store/notice-store.ts'
import type { Store } from '../ports/store/store.ts'
import type { TurnTicket } from '../ports/store/work-store.ts'
import type { TurnContext } from '../ports/turn/turn-context.ts'
import { createLeaseRenewal } from './lease-renewal.ts'
import { createBroadcastPool } from './pools/broadcast-pool.ts'
import type { DeliveryPool } from './pools/delivery-pool.ts'
import { createDeliveryPool } from './pools/delivery-pool.ts'
import type { PoolDeps } from './pools/pool-deps.ts'
import { createRetriedResults } from './pools/retried-results.ts'
import { createTurnPool } from './pools/turn-pool.ts'
import type { WorkPool } from './pools/work-pool.ts'
import type { WorkerOptions, WorkerSystem } from './pools/worker-options.ts'
import type { SendDeps } from './send.ts'
import { createLostLeases } from './turns/lost-leases.ts'

/** The longest sleep between two checks of the clock, in ms, because a retry may be scheduled during the sleep. */
const maxSleepMs = 1_000

export interface Worker {
  /** Resolves once the turns of this agent that run now have ended. */
  waitForTurns(agent: string): Promise<void>
  /** Counts the turns of this agent that run now, except those that wait for another agent. */
  countTurns(agent: string): number
  /** Leases no more work, lets running work finish for `graceMs`, then releases its leases. If it is called again, the shorter time counts. */
  stop(graceMs: number): Promise<void>
}

/** Starts a worker, which runs turns, deliveries and broadcasts concurrently until it is stopped. */
export function startWorker(
  { store, ...turnContext }: Omit<TurnContext, 'store' | 'results'> & { readonly store: Store },
  sendDeps: Omit<SendDeps, 'results'>,
  system: WorkerSystem,
  options: WorkerOptions,
): Worker {
  const stopController = new AbortController()
  const abandonController = new AbortController()
  const results = createRetriedResults(store, { ...system, stopSignal: abandonController.signal })
  const lostLeases = createLostLeases(abandonController.signal)
  const leaseRenewal = createLeaseRenewal({
    ...{ store, system, leaseMs: options.leaseMs, onLost: lostLeases.end },
    listRunning: () => pools.leasingPools.flatMap(pool => [...pool.running.keys()]).filter(lostLeases.isStored),
  })
  const pools: WorkerPools = createPools({
    turnContext: { ...turnContext, store },
    sendDeps,
    results,
    system,
    options,
    isClosed: () => stopController.signal.aborted,
    abandonSignal: abandonController.signal,
    ...{ leaseRenewal, lostLeases },
  })
  const workerState: WorkerState = {
    store,
    system,
    pools,
    stopSignal: stopController.signal,
    abandonSignal: abandonController.signal,
  }
  const unlisten = store.listen('work', kinds => wakeFor(kinds, pools))
  void watchClock(workerState)
  void leaseRenewal.renewUntilStopped(abandonController.signal)
  return {
    async waitForTurns(agent) {
      const [turns] = pools.leasingPools
      await Promise.all([...turns.running].map(([turn, end]) => turn.agent === agent && end))
    },
    countTurns: agent => pools.countTurns(agent),
    async stop(graceMs) {
      stopController.abort()
      unlisten()
      await drainWithin(graceMs, workerState, abandonController.signal)
      abandonController.abort(new TurnAborted('shutting_down'))
      await drainWithin(1_000, workerState)
    },
  }
}

/** The store, the system, the pools and the signals of a running worker. */
interface WorkerState {
  readonly store: TurnContext['store']
  readonly system: WorkerSystem
  readonly pools: WorkerPools
  readonly stopSignal: AbortSignal
  readonly abandonSignal: AbortSignal
}

/** Wakes the pools of these kinds, or all pools if the notice has an unknown form. */
function wakeFor(kinds: unknown, { byKind }: WorkerPools): void {
  const readyKinds = Array.isArray(kinds) ? workKinds.filter(kind => kinds.includes(kind)) : workKinds
  for (const pool of readyKinds.flatMap(kind => byKind[kind])) pool.wake()
}

/** Wakes the pools for work without a notice: due retries and expired leases. */
async function watchClock({ store, system, pools, stopSignal }: WorkerState): Promise<void> {
  while (!stopSignal.aborted) {
    for (const pool of pools.allPools) pool.wake()
    const dueAt = await store.findNextDueAt().catch(() => undefined)
    const waitMs = dueAt === undefined ? maxSleepMs : Math.min(maxSleepMs, Math.max(50, dueAt - system.now()))
    await system.sleep(waitMs, stopSignal)
  }
}

async function drainWithin(ms: number, { system, pools }: WorkerState, abortSignal?: AbortSignal): Promise<void> {
  const sleepController = new AbortController()
  const end = () => sleepController.abort()
  const drained = Promise.all(pools.allPools.map(pool => pool.drain())).then(end)
  abortSignal?.addEventListener('abort', end)
  await Promise.race([drained, system.sleep(ms, sleepController.signal)])
}

type AnyPool = Pick<WorkPool<unknown>, 'wake' | 'drain'>

/** The pools of a worker. */
interface WorkerPools {
  /** The pools of turns, of deliveries of answers and of deliveries of broadcasts. */
  readonly leasingPools: readonly [WorkPool<Turn, TurnTicket>, DeliveryPool, DeliveryPool]
  /** All pools, including that of broadcasts, whose leases need no renewal. */
  readonly allPools: readonly AnyPool[]
  readonly byKind: Readonly<Record<WorkKind, readonly AnyPool[]>>
  countTurns(agent: string): number
}

function createPools(deps: PoolDeps): WorkerPools {
  const { options } = deps
  const { broadcastSlots = Math.ceil(options.deliverySlots / 2) } = options
  const createPool = (rank: DeliveryRank, slots: number) => createDeliveryPool(deps, { rank, slots })
  const { turns, countTurns } = createTurnPool(deps)
  const deliveries = [createPool('answer', options.deliverySlots), createPool('broadcast', broadcastSlots)] as const
  const broadcasts = createBroadcastPool(deps)
  const leasingPools = [turns, ...deliveries] as const
  return {
    leasingPools,
    allPools: [...leasingPools, broadcasts],
    byKind: { turns: [turns], deliveries, broadcasts: [broadcasts] },
    countTurns,
  }
}
