import { expandBroadcast } from '../actions/expand-broadcast.ts'
import { LeaseLost, Unavailable } from '../format/errors.ts'
import { findDestinationHost } from '../message/address/address.ts'
import type { TurnContext } from '../ports/agent/turn-context.ts'
import type { WorkKind } from '../ports/notice-store.ts'
import type { Platform } from '../ports/platform/platform.ts'
import type { Broadcast, Delivery, DeliveryRank, LeaseRequest, Turn } from '../ports/records/work.ts'
import { workTurn } from '../turn/turn.ts'
import type { HeldResults } from './held-results.ts'
import { createOneByOne } from './keyed-queue.ts'
import type { Sending } from './pipeline.ts'
import { send } from './pipeline.ts'
import { createWaitingTurns } from './waiting-turns.ts'
import type { WorkPool } from './work-pool.ts'
import { createWorkPool } from './work-pool.ts'

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

/** The pools of a worker. */
export interface WorkerPools {
  /** Turns, deliveries of answers, deliveries of broadcasts. */
  readonly leased: readonly [WorkPool<Turn>, WorkPool<Delivery>, WorkPool<Delivery>]
  /** With those of broadcasts, which need no renewal. */
  readonly all: readonly AnyPool[]
  readonly byKind: Readonly<Record<WorkKind, readonly AnyPool[]>>
}

export function createPools(deps: PoolDeps): WorkerPools {
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

function createTurnPool(deps: PoolDeps): WorkPool<Turn> {
  const { turnContext, results, options, abandoned } = deps
  const { store } = turnContext
  const { turnSlots, turnsPerAgent, turnsOf } = options
  // More may wait than run: a turn that waits takes no slot.
  const waiting = createWaitingTurns(4 * turnSlots, (turn, isWaiting) => {
    // A hint: a worker that misses it uses one turn less for a while.
    store.noteWaiting(turn, isWaiting).catch(() => undefined)
    turns.wake()
  })
  const waitingContext = { ...turnContext, results, waiting }
  const turnShares = { most: turnsPerAgent, mostOf: turnsOf }
  const mostOf = (agent: string) => turnsOf?.get(agent) ?? turnsPerAgent
  const turns: WorkPool<Turn> = createWorkPool<Turn>({
    ...shared(deps),
    slots: turnSlots,
    isWaiting: waiting.has,
    groupOf: turn => turn.agent,
    groupSlots: mostOf,
    lease: (limit, taken) =>
      lease(deps, request => store.leaseTurns({ ...request, shares: { ...turnShares, taken } }), limit),
    run: turn => workTurn(turn, waitingContext, abandoned),
  })
  const lookForAll = () => {
    const { limit, taken } = turns.lookForAll()
    return { limit, shares: { ...turnShares, taken } }
  }
  const { hasRoom, hold, letGo, begin } = turns
  store.offerTurns?.({ holder: options.holder, leaseMs: options.leaseMs, hasRoom, lookForAll, hold, letGo, begin })
  return turns
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

function createDeliveryPool(deps: PoolDeps, { rank, slots, runInOrder }: DeliveryPoolOptions): WorkPool<Delivery> {
  const { turnContext, results, options } = deps
  const { store } = turnContext
  const sending = { ...deps.sending, results }
  const most = options.deliveriesPerHost
  return createWorkPool<Delivery>({
    ...shared(deps),
    slots,
    groupOf: delivery => findDestinationHost(delivery.to),
    groupSlots: () => most,
    countsAlone: true,
    lease: (limit, taken) =>
      lease(deps, request => store.leaseDeliveries({ ...request, rank, shares: { most, taken } }), limit),
    run: async delivery => void (await runInOrder(nameCourse(delivery), () => send(delivery, sending))),
  })
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
