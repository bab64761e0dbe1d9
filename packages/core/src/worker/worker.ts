import { expandBroadcast } from '../actions/expand-broadcast.ts'
import { LeaseLost, TurnAborted, Unavailable } from '../format/errors.ts'
import { findDestinationHost } from '../message/address/address.ts'
import type { TurnContext } from '../ports/agent/turn-context.ts'
import type { WorkKind } from '../ports/notice-store.ts'
import { workKinds } from '../ports/notice-store.ts'
import type { Platform } from '../ports/platform/platform.ts'
import type { Broadcast, Delivery, DeliveryRank, LeaseRequest, Turn } from '../ports/records/work.ts'
import type { Store } from '../ports/store.ts'
import type { DeliveryTicket, ResultStore, TurnTicket } from '../ports/work-store.ts'
import { workTurn } from '../turn/turn.ts'
import type { HeldDeps } from './held-results.ts'
import { HeldWrites } from './held-results.ts'
import type { Sending } from './send.ts'
import { send } from './send.ts'
import { createWaitingTurns } from './waiting-turns.ts'
import type { WorkPool } from './work-pool.ts'
import { createOneByOne, createWorkPool } from './work-pool.ts'

/** A retry may be scheduled while the clock sleeps: it never sleeps longer than this. */
const longestNapMs = 1_000

export interface Worker {
  /** Resolves when the turns of this agent that run now have ended. */
  untilTurnsEnd(agent: string): Promise<void>
  /** Leases no more work, lets running work finish for `graceMs`, then returns its leases. Asked again, the shorter time counts. */
  stop(graceMs: number): Promise<void>
}

/** Works turns and deliveries side by side until stopped. */
export function startWorker(
  { store, ...turnContext }: Omit<TurnContext, 'store' | 'results'> & { readonly store: Store },
  sending: Omit<Sending, 'results'>,
  platform: WorkerPlatform,
  options: WorkerOptions,
): Worker {
  const stopping = new AbortController()
  const abandoning = new AbortController()
  const results = createHeldResults(store, { ...platform, stop: abandoning.signal })
  const pools = createPools({
    turnContext: { ...turnContext, store },
    sending,
    results,
    platform,
    options,
    isClosed: () => stopping.signal.aborted,
    abandoned: abandoning.signal,
  })
  const running: Running = { store, platform, pools, stopping: stopping.signal, abandoned: abandoning.signal }
  const unlisten = store.listen('work', kinds => wakeFor(kinds, pools))
  void watchClock(running)
  void keepLeases(running, options.leaseMs)
  return {
    async untilTurnsEnd(agent) {
      const [turns] = pools.leased
      await Promise.all([...turns.running].map(([turn, end]) => turn.agent === agent && end))
    },
    async stop(graceMs) {
      stopping.abort()
      unlisten()
      await settleWithin(graceMs, running, abandoning.signal)
      abandoning.abort(new TurnAborted('shutting_down'))
      await settleWithin(1_000, running)
    },
  }
}

/** A worker that was started. */
interface Running {
  readonly store: TurnContext['store']
  readonly platform: WorkerPlatform
  readonly pools: WorkerPools
  readonly stopping: AbortSignal
  readonly abandoned: AbortSignal
}

/** What is not understood wakes all. */
function wakeFor(kinds: unknown, { byKind }: WorkerPools): void {
  const ready = Array.isArray(kinds) ? workKinds.filter(kind => kinds.includes(kind)) : workKinds
  for (const pool of ready.flatMap(kind => byKind[kind])) pool.wake()
}

/** Wakes the pools for work without a notice: retries that fall due and leases that ran out. */
async function watchClock({ store, platform, pools, stopping }: Running): Promise<void> {
  while (!stopping.aborted) {
    for (const pool of pools.all) pool.wake()
    const due = await store.nextDue().catch(() => undefined)
    const wait = due === undefined ? longestNapMs : Math.min(longestNapMs, Math.max(50, due - platform.now()))
    await platform.sleep(wait, stopping)
  }
}

async function keepLeases({ store, platform, pools, abandoned }: Running, leaseMs: number): Promise<void> {
  while (!abandoned.aborted) {
    await platform.sleep(leaseMs / 3, abandoned)
    const works = pools.leased.flatMap(pool => [...pool.running.keys()])
    await Promise.all(works.map(work => store.renew(work, leaseMs).catch(() => undefined)))
  }
}

async function settleWithin(ms: number, { platform, pools }: Running, over?: AbortSignal): Promise<void> {
  const settled = new AbortController()
  const end = () => settled.abort()
  const all = Promise.all(pools.all.map(pool => pool.drain())).then(end)
  over?.addEventListener('abort', end)
  await Promise.race([all, platform.sleep(ms, settled.signal)])
}

export interface WorkerOptions {
  /** One name per process. */
  readonly holder: string
  readonly turnSlots: number
  readonly turnsPerAgent: number
  /** Agents that have another number of turns at once. */
  readonly turnsOf?: ReadonlyMap<string, number> | undefined
  readonly deliverySlots: number
  /** Deliveries of broadcasts at once; default: half of the others. */
  readonly broadcastSlots?: number | undefined
  readonly deliveriesPerHost: number
  readonly leaseMs: number
}

export type WorkerPlatform = Pick<Platform, 'now' | 'randomBytes' | 'log' | 'sleep'>

interface PoolDeps {
  readonly turnContext: Omit<TurnContext, 'results'>
  readonly sending: Omit<Sending, 'results'>
  readonly results: HeldResults
  readonly platform: WorkerPlatform
  readonly options: WorkerOptions
  isClosed(): boolean
  /** Aborts when running turns must end. */
  readonly abandoned: AbortSignal
}

type AnyPool = Pick<WorkPool<unknown>, 'wake' | 'drain'>

type DeliveryPool = WorkPool<Delivery, DeliveryTicket>

/** The pools of a worker. */
interface WorkerPools {
  /** Turns, deliveries of answers, deliveries of broadcasts. */
  readonly leased: readonly [WorkPool<Turn, TurnTicket>, DeliveryPool, DeliveryPool]
  /** With those of broadcasts, which need no renewal. */
  readonly all: readonly AnyPool[]
  readonly byKind: Readonly<Record<WorkKind, readonly AnyPool[]>>
}

function createPools(deps: PoolDeps): WorkerPools {
  const { options } = deps
  const { broadcastSlots = Math.ceil(options.deliverySlots / 2) } = options
  const runInOrder = createOneByOne()
  const delivering = (rank: DeliveryRank, slots: number) => createDeliveryPool(deps, { rank, slots, runInOrder })
  const turns = createTurnPool(deps)
  const deliveries = [delivering('answer', options.deliverySlots), delivering('broadcast', broadcastSlots)] as const
  const broadcasts = createBroadcastPool(deps)
  const leased = [turns, ...deliveries] as const
  return { leased, all: [...leased, broadcasts], byKind: { turns: [turns], deliveries, broadcasts: [broadcasts] } }
}

function createTurnPool(deps: PoolDeps): WorkPool<Turn, TurnTicket> {
  const { turnContext, results, options, abandoned } = deps
  const { store } = turnContext
  const { turnSlots, turnsPerAgent, turnsOf } = options
  const paused = new Set<Turn>()
  // More may wait than run: a turn that waits takes no slot.
  const waiting = createWaitingTurns(4 * turnSlots, (turn, isWaiting) => {
    if (isWaiting) paused.add(turn)
    else paused.delete(turn)
    // A hint: a worker that misses it uses one turn less for a while.
    store.noteWaiting(turn, isWaiting).catch(() => undefined)
    turns.wake()
  })
  function noteAnswered(turn: Turn): void {
    // An agent that has one turn at a time finds what the one before has written.
    if (mostOf(turn.agent) > 1) turns.freeSlot(turn)
  }
  const workContext = { ...turnContext, results, waiting, noteAnswered }
  const turnShares = { most: turnsPerAgent, mostOf: turnsOf }
  const mostOf = (agent: string) => turnsOf?.get(agent) ?? turnsPerAgent
  const turns: WorkPool<Turn, TurnTicket> = createWorkPool<Turn, TurnTicket>({
    ...shared(deps),
    slots: turnSlots,
    isWaiting: turn => paused.has(turn),
    groupOf: turn => turn.agent,
    groupSlots: mostOf,
    lease: (limit, taken) =>
      lease(deps, request => store.leaseTurns({ ...request, taker, shares: { ...turnShares, taken } }), limit),
    run: turn => workTurn(turn, workContext, abandoned),
  })
  const taker = createTaker(turns, options, turnShares)
  store.offerTurns?.(taker)
  return turns
}

/** A pool as the store asks it. `bounds`: how much of a group may run at once. */
function createTaker<Work extends Held, Held>(
  pool: WorkPool<Work, Held>,
  { holder, leaseMs }: Pick<WorkerOptions, 'holder' | 'leaseMs'>,
  bounds: Omit<NonNullable<LeaseRequest['shares']>, 'taken'>,
) {
  return {
    ...{ holder, leaseMs, ...pool },
    lookForAll(isBeside: boolean) {
      const { limit, taken } = pool.lookForAll(isBeside)
      return { limit, shares: { ...bounds, taken } }
    },
  }
}

interface DeliveryPoolOptions {
  readonly rank: DeliveryRank
  readonly slots: number
  /**
   * The store leases deliveries to one destination in order. But a delivery that is withdrawn on its way is over for the store at once; the
   * next one must not overtake it.
   */
  readonly runInOrder: ReturnType<typeof createOneByOne>
}

function createDeliveryPool(deps: PoolDeps, { rank, slots, runInOrder }: DeliveryPoolOptions): DeliveryPool {
  const { turnContext, results, options } = deps
  const { store } = turnContext
  const sending = { ...deps.sending, results }
  const most = options.deliveriesPerHost
  const deliveries: DeliveryPool = createWorkPool<Delivery, DeliveryTicket>({
    ...shared(deps),
    slots,
    groupOf: ({ to }) => findDestinationHost(to),
    groupSlots: () => most,
    countsAlone: true,
    lease: (limit, taken) =>
      lease(deps, request => store.leaseDeliveries({ ...request, rank, taker, shares: { most, taken } }), limit),
    run: async delivery => void (await runInOrder(nameCourse(delivery), () => send(delivery, sending))),
  })
  const taker = createTaker(deliveries, options, { most })
  if (rank === 'answer') store.offerDeliveries?.(taker)
  return deliveries
}

function createBroadcastPool(deps: PoolDeps): WorkPool<Broadcast> {
  const { turnContext, results, platform, isClosed } = deps
  const { store, channels } = turnContext
  return createWorkPool<Broadcast>({
    ...shared(deps),
    // One after the other: the posts of a thread go out in their order.
    slots: 1,
    groupOf: () => undefined,
    lease: limit => lease(deps, request => store.leaseBroadcasts(request), limit),
    run: broadcast => expandBroadcast(broadcast, { store, results, platform, channels, isClosed }),
  })
}

function shared({ isClosed, platform }: PoolDeps) {
  return { isClosed, onError: (error: unknown) => logEnd(platform, error) }
}

async function lease<Work>(
  { options: { holder, leaseMs }, results }: PoolDeps,
  take: (request: LeaseRequest) => Promise<readonly Work[]>,
  limit: number,
): Promise<readonly Work[]> {
  await results.tryAll()
  return take({ holder, limit, leaseMs })
}

/** The deliveries of one message to one destination. */
function nameCourse({ via, agent, to, message }: Delivery): string {
  return JSON.stringify([via, agent, to, message.id])
}

function logEnd(platform: Pick<Platform, 'log'>, error: unknown): void {
  if (error instanceof LeaseLost) platform.log.warn({ err: error }, 'lease lost, result thrown away')
  else if (error instanceof Unavailable) platform.log.warn({ err: error }, 'the store cannot be asked now')
  else platform.log.error({ err: error }, 'work failed; its lease will run out')
}

/**
 * Brings results to the store. While the store is away they are held, and written once it is back. A write throws `Unavailable` only after the
 * end of the process has begun.
 */
interface HeldResults extends ResultStore {
  /** Tries all that are held now: before new work is taken, lest a result's own work is taken up anew. */
  tryAll(): Promise<void>
}

function createHeldResults(store: ResultStore, deps: HeldDeps): HeldResults {
  const held = new HeldWrites(deps)
  async function keep(write: () => Promise<void>): Promise<void> {
    try {
      await write()
    } catch (error) {
      await held.hold(write, error)
    }
  }
  return {
    commit: (...args) => keep(() => store.commit(...args)),
    release: (...args) => keep(() => store.release(...args)),
    settle: (...args) => keep(() => store.settle(...args)),
    expand: (...args) => keep(() => store.expand(...args)),
    keepStreamed: (...args) => keep(() => store.keepStreamed(...args)),
    tryAll: () => held.tryAll(),
  }
}
