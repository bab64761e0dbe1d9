// Works turns, deliveries and broadcasts concurrently until its gateway stops it.
import type { System } from '@postern/message'
import {
  callerGroupPrefix,
  callerGroups,
  findShareGroup,
  LeaseLost,
  mailGroup,
  TurnAborted,
  Unavailable,
} from '@postern/message'
import { expandBroadcast } from '../actions/expand-broadcast.ts'
import type { Broadcast, Delivery } from '../ports/records/work/delivery.ts'
import type { DeliveryRank, LeaseRequest } from '../ports/records/work/lease-request.ts'
import type { Turn } from '../ports/records/work/turn.ts'
import type { WorkKind } from '../ports/store/notice-store.ts'
import { workKinds } from '../ports/store/notice-store.ts'
import type { Store } from '../ports/store/store.ts'
import type { DeliveryTicket, ResultStore, TurnConsumer, TurnTicket } from '../ports/store/work-store.ts'
import type { TurnContext } from '../ports/turn/turn-context.ts'
import { workTurn } from '../turn/turn.ts'
import { rememberGroups } from './concurrency.ts'
import type { HeldWritesDeps } from './held-writes.ts'
import { HeldWrites } from './held-writes.ts'
import type { LeaseRenewal } from './lease-renewal.ts'
import { createLeaseRenewal } from './lease-renewal.ts'
import type { SendDeps } from './send.ts'
import { sendDelivery } from './send.ts'
import type { LostLeases } from './turns/lost-leases.ts'
import { createLostLeases } from './turns/lost-leases.ts'
import { TurnIsolation } from './turns/turn-isolation.ts'
import { waitForMessage } from './turns/unstored-turn.ts'
import { createWaitingTurns } from './turns/waiting-turns.ts'
import type { WorkPool } from './work-pool.ts'
import { createWorkPool } from './work-pool.ts'

/** The longest sleep between two checks of the clock, in ms, because a retry may be scheduled during the sleep. */
const maxSleepMs = 1_000

export interface Worker {
  /** Resolves once the turns of this agent that run now have ended. */
  untilTurnsEnd(agent: string): Promise<void>
  /** Counts the turns of this agent that run now, except those that wait for another agent. */
  countTurns(agent: string): number
  /** Leases no more work, lets running work finish for `graceMs`, then releases its leases. If it is called again, the shorter time counts. */
  stop(graceMs: number): Promise<void>
}

/** Starts a worker, which works turns, deliveries and broadcasts concurrently until it is stopped. */
export function startWorker(
  { store, ...turnContext }: Omit<TurnContext, 'store' | 'results'> & { readonly store: Store },
  sendDeps: Omit<SendDeps, 'results'>,
  system: WorkerSystem,
  options: WorkerOptions,
): Worker {
  const stopController = new AbortController()
  const abandonController = new AbortController()
  const results = createHeldResults(store, { ...system, stop: abandonController.signal })
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
    async untilTurnsEnd(agent) {
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

/** The parts of a running worker. */
interface WorkerState {
  readonly store: TurnContext['store']
  readonly system: WorkerSystem
  readonly pools: WorkerPools
  readonly stopSignal: AbortSignal
  readonly abandonSignal: AbortSignal
}

/** Wakes the pools of these kinds, or all of them if the kinds are not understood. */
function wakeFor(kinds: unknown, { byKind }: WorkerPools): void {
  const readyKinds = Array.isArray(kinds) ? workKinds.filter(kind => kinds.includes(kind)) : workKinds
  for (const pool of readyKinds.flatMap(kind => byKind[kind])) pool.wake()
}

/** Wakes the pools for work without a notice: due retries and expired leases. */
async function watchClock({ store, system, pools, stopSignal }: WorkerState): Promise<void> {
  while (!stopSignal.aborted) {
    for (const pool of pools.allPools) pool.wake()
    const dueAt = await store.nextDue().catch(() => undefined)
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

export interface WorkerOptions {
  /** The name of the worker, one for each process. */
  readonly holder: string
  readonly turnSlots: number
  readonly turnsPerAgent: number
  /** The agents whose number of concurrent turns differs from the default. */
  readonly turnsOf?: ReadonlyMap<string, number> | undefined
  /** Counts the turns of an agent that other workers of this process run, because they count in its limit. Default: none. */
  turnsElsewhere?(agent: string): number
  readonly deliverySlots: number
  /** The number of concurrent deliveries of broadcasts; default: half of the number for answers. */
  readonly broadcastSlots?: number | undefined
  readonly deliveriesPerHost: number
  readonly leaseMs: number
}

export type WorkerSystem = Pick<System, 'now' | 'randomBytes' | 'log' | 'sleep'>

interface PoolDeps {
  readonly turnContext: Omit<TurnContext, 'results'>
  readonly sendDeps: Omit<SendDeps, 'results'>
  readonly results: HeldResults
  readonly system: WorkerSystem
  readonly options: WorkerOptions
  isClosed(): boolean
  /** Aborts when running turns must end. */
  readonly abandonSignal: AbortSignal
  readonly leaseRenewal: Pick<LeaseRenewal, 'refresh'>
  readonly lostLeases: LostLeases
}

type AnyPool = Pick<WorkPool<unknown>, 'wake' | 'drain'>

type DeliveryPool = WorkPool<Delivery, DeliveryTicket>

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

function createTurnPool(
  deps: PoolDeps,
): Pick<WorkerPools, 'countTurns'> & { readonly turns: WorkPool<Turn, TurnTicket> } {
  const { turnContext, results, options, abandonSignal, lostLeases } = deps
  const { store } = turnContext
  const { turnSlots, turnsPerAgent, turnsOf, turnsElsewhere = () => 0 } = options
  const turnsInCall = new Set<Turn>()
  // More turns may wait than run, because a waiting turn uses no slot.
  const waiting = createWaitingTurns(4 * turnSlots, (turn, isWaiting) => {
    if (isWaiting) turnsInCall.add(turn)
    else turnsInCall.delete(turn)
    // It is only a hint: a worker that misses it runs one turn fewer for a while.
    const note = () => store.noteWaiting(turn, isWaiting)
    void (turn.stored?.then(note) ?? note()).catch(() => undefined)
    isolation.noteChange()
    turns.wake()
  })
  const isolation = new TurnIsolation({
    ...{ system: deps.system, abandonSignal },
    isSuspect: ({ crashes }) => crashes > 0 && crashes < turnContext.maxCrashes,
    isWaiting: turn => turnsInCall.has(turn),
    noteAlone: turn => store.noteAlone(turn),
    onOpen: () => turns.wake(),
  })
  function noteAnswered(turn: Turn): void {
    // An agent with one turn at a time keeps its slot, so that its next turn finds the stored result of this one.
    if (maxTurnsOf(turn.agent) > 1) turns.freeSlot(turn)
  }
  const workContext = { ...turnContext, results, waiting, noteAnswered }
  const contextOf = ({ stored }: Turn) => (stored ? waitForMessage(workContext, stored) : workContext)
  const turnLimits = { maxPerGroup: turnsPerAgent, maxByGroup: turnsOf }
  const maxTurnsOf = (agent: string) => turnsOf?.get(agent) ?? turnsPerAgent
  const turns: WorkPool<Turn, TurnTicket> = createWorkPool<Turn, TurnTicket>({
    ...readPoolOptions(deps),
    slots: turnSlots,
    isWaiting: turn => turnsInCall.has(turn) || isolation.isQueued(turn),
    groupOf: turn => turn.agent,
    groupSlots: agent => Math.max(0, maxTurnsOf(agent) - turnsElsewhere(agent)),
    lease: async (limit, usedByGroup) =>
      isolation.isClosed
        ? []
        : lease(
            deps,
            request => store.leaseTurns({ ...request, consumer, shares: { ...turnLimits, usedByGroup } }),
            limit,
          ),
    run: turn => isolation.run(turn, () => lostLeases.run(turn, signal => workTurn(turn, contextOf(turn), signal))),
  })
  const hasCapacity: TurnConsumer['hasCapacity'] = ticket => !isolation.isClosed && turns.hasCapacity(ticket)
  const continuesAdmission: TurnConsumer['continuesAdmission'] = ({ agent }) =>
    turnContext.findAgent(agent)?.continuesAdmission === true
  const consumer = { ...createConsumer(turns, options, turnLimits), hasCapacity, continuesAdmission }
  store.setTurnConsumer?.(consumer)
  const countTurns = (agent: string) =>
    [...turns.running.keys()].filter(turn => turn.agent === agent && !turnsInCall.has(turn)).length
  return { turns, countTurns }
}

/** Creates the consumer by which the store uses a pool. `limits` bounds the concurrent work of a group. */
function createConsumer<Work extends Held, Held>(
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

/** The divisor of the slots that gives a quarter of them to all mail, which goes to one server, and another to the addresses that callers name. */
const largeShare = 4

/** The time after which a delivery counts as slow, in ms, and the number of slow deliveries that may run without a slot. */
const [slowAfterMs, slowSlots] = [500, 512] as const

interface DeliveryPoolOptions {
  readonly rank: DeliveryRank
  readonly slots: number
}

function createDeliveryPool(deps: PoolDeps, { rank, slots }: DeliveryPoolOptions): DeliveryPool {
  const { turnContext, results, options } = deps
  const { store } = turnContext
  const sendDeps = { ...deps.sendDeps, results }
  const maxPerHost = options.deliveriesPerHost
  const mailSlots = Math.ceil(slots / largeShare)
  const callerGroupSlots = Math.max(1, Math.floor(mailSlots / callerGroups))
  const maxByGroup = new Map([[mailGroup, Math.max(maxPerHost, mailSlots)]])
  for (let index = 0; index < callerGroups; index += 1) maxByGroup.set(`${callerGroupPrefix}${index}`, callerGroupSlots)
  const slowDeliveries = new Set<Delivery>()
  /** Sends a delivery. If the host is slow, the delivery uses a socket but no slot, so that other hosts need not wait for one that hangs. */
  async function sendBesideSlow(delivery: Delivery): Promise<void> {
    const timer = setTimeout(() => {
      if (slowDeliveries.size >= slowSlots) return
      slowDeliveries.add(delivery)
      deliveries.noteSlow(delivery)
    }, slowAfterMs)
    try {
      await sendDelivery(delivery, sendDeps)
    } finally {
      clearTimeout(timer)
      slowDeliveries.delete(delivery)
    }
  }
  const deliveries: DeliveryPool = createWorkPool<Delivery, DeliveryTicket>({
    ...readPoolOptions(deps),
    slots,
    groupOf: rememberGroups(findShareGroup),
    groupSlots: group => maxByGroup.get(group) ?? maxPerHost,
    isSlow: delivery => slowDeliveries.has(delivery),
    countsAlone: true,
    lease: (limit, usedByGroup) =>
      lease(
        deps,
        request =>
          store.leaseDeliveries({
            ...request,
            rank,
            consumer,
            shares: { maxPerGroup: maxPerHost, maxByGroup, usedByGroup },
          }),
        limit,
      ),
    run: sendBesideSlow,
  })
  const consumer = createConsumer(deliveries, options, { maxPerGroup: maxPerHost, maxByGroup })
  if (rank === 'answer') store.setDeliveryConsumer?.(consumer)
  return deliveries
}

function createBroadcastPool(deps: PoolDeps): WorkPool<Broadcast> {
  const { turnContext, results, system, isClosed } = deps
  const { store, channels } = turnContext
  return createWorkPool<Broadcast>({
    ...readPoolOptions(deps),
    // The store preserves the order of the posts in a thread. One broadcast at a time leaves the store free for answers.
    slots: 1,
    groupOf: () => undefined,
    lease: limit => lease(deps, request => store.leaseBroadcasts(request), limit),
    run: broadcast => expandBroadcast(broadcast, { store, results, system, channels, isClosed }),
  })
}

function readPoolOptions({ isClosed, system }: PoolDeps) {
  return { isClosed, onError: (error: unknown) => logFailure(system, error) }
}

async function lease<Work>(
  { options: { holder, leaseMs }, results, leaseRenewal }: PoolDeps,
  leaseWork: (request: LeaseRequest) => Promise<readonly Work[]>,
  limit: number,
): Promise<readonly Work[]> {
  await results.tryAll()
  const renewal = leaseRenewal.refresh()
  if (renewal) await renewal
  return leaseWork({ holder, limit, leaseMs })
}

function logFailure(system: Pick<System, 'log'>, error: unknown): void {
  if (error instanceof LeaseLost) system.log.warn({ err: error }, 'lease lost, result thrown away')
  else if (error instanceof Unavailable) system.log.warn({ err: error }, 'the store cannot be asked now')
  else system.log.error({ err: error }, 'work failed; its lease will run out')
}

/**
 * Writes results to the store. It holds them while the store is unavailable and writes them afterwards. A write throws `Unavailable` only after the
 * shutdown has begun.
 */
interface HeldResults extends ResultStore {
  /** Retries all held writes now. Callers do it before they lease work, because otherwise work with a held result could be leased again. */
  tryAll(): Promise<void>
}

function createHeldResults(store: ResultStore, deps: HeldWritesDeps): HeldResults {
  const heldWrites = new HeldWrites(deps)
  async function holdIfUnavailable(write: () => Promise<void>): Promise<void> {
    try {
      await write()
    } catch (error) {
      await heldWrites.hold(write, error)
    }
  }
  return {
    commit: (...args) => holdIfUnavailable(() => store.commit(...args)),
    release: (...args) => holdIfUnavailable(() => store.release(...args)),
    settle: (...args) => holdIfUnavailable(() => store.settle(...args)),
    expand: (...args) => holdIfUnavailable(() => store.expand(...args)),
    keepStreamed: (...args) => holdIfUnavailable(() => store.keepStreamed(...args)),
    tryAll: () => heldWrites.tryAll(),
  }
}
