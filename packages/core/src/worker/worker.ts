import { expandBroadcast } from '../actions/expand-broadcast.ts'
import { LeaseLost, TurnAborted, Unavailable } from '../format/errors.ts'
import { findDestinationHost } from '../message/address/address.ts'
import type { TurnContext } from '../ports/agent/turn-context.ts'
import type { Platform } from '../ports/platform/platform.ts'
import type { Broadcast, Delivery, DeliveryRank, LeaseRequest, Turn } from '../ports/records/work.ts'
import { workTurn } from '../turn/turn.ts'
import { createHeldResults, holdEndings } from './held-results.ts'
import { createOneByOne } from './keyed-queue.ts'
import type { Sending } from './pipeline.ts'
import { send } from './pipeline.ts'
import { createWaitingTurns } from './waiting-turns.ts'
import type { WorkPool } from './work-pool.ts'
import { createWorkPool } from './work-pool.ts'

/** A retry may be scheduled while the clock sleeps: it never sleeps longer than this. */
const longestNapMs = 1_000

export interface WorkerOptions {
  /** One name per process. */
  readonly holder: string
  readonly turnSlots: number
  readonly turnsPerAgent: number
  /** Agents that have another number of turns at once. */
  readonly turnsOf?: ReadonlyMap<string, number> | undefined
  /** Calls of turns to other agents at once; default: four times the turns. */
  readonly waitingSlots?: number | undefined
  readonly deliverySlots: number
  /** Deliveries of broadcasts at once; default: half of the others. */
  readonly broadcastSlots?: number | undefined
  readonly deliveriesPerHost: number
  readonly leaseMs: number
}

export interface Worker {
  /** Leases no more work, lets running work finish for `graceMs`, then returns its leases. */
  stop(graceMs: number): Promise<void>
}

export type WorkerPlatform = Pick<Platform, 'now' | 'randomBytes' | 'log' | 'sleep'>

/** Works turns and deliveries side by side until stopped. */
export function startWorker(
  { store: durable, ...turnContext }: TurnContext,
  sending: Sending,
  platform: WorkerPlatform,
  options: WorkerOptions,
): Worker {
  const { holder, leaseMs } = options
  const stopping = new AbortController()
  const abandoning = new AbortController()
  const held = createHeldResults(platform, abandoning.signal)
  const store = holdEndings(durable, held)
  const delivering = { ...sending, store: holdEndings(sending.store, held) }
  const leaseOf = (limit: number): LeaseRequest => ({ holder, limit, leaseMs })
  const lease = async <Work>(take: () => Promise<readonly Work[]>) => {
    await held.tryAll()
    return take()
  }
  const shared = { isClosed: () => stopping.signal.aborted, onError: (error: unknown) => logEnd(platform, error) }
  const { turnSlots, waitingSlots = 4 * turnSlots } = options
  const waiting = createWaitingTurns(waitingSlots, (turn, isWaiting) => {
    // A hint: a worker that misses it uses one turn less for a while.
    store.noteWaiting(turn, isWaiting).catch(() => undefined)
    turns.wake()
  })
  const seated = { ...turnContext, store, waiting }
  const turnShares = { most: options.turnsPerAgent, mostOf: options.turnsOf }
  const turns: WorkPool<Turn> = createWorkPool<Turn>({
    ...shared,
    slots: turnSlots,
    isWaiting: waiting.has,
    groupOf: turn => turn.agent,
    lease: (limit, taken) => lease(() => store.leaseTurns({ ...leaseOf(limit), shares: { ...turnShares, taken } })),
    run: turn => workTurn(turn, seated, abandoning.signal),
  })
  // The store leases deliveries to one destination in order. But a delivery that is withdrawn on its way is over for
  // the store at once; the next one must not overtake it.
  const runInOrder = createOneByOne()
  const deliver = (rank: DeliveryRank, slots: number) =>
    createWorkPool<Delivery>({
      ...shared,
      slots,
      groupOf: delivery => findDestinationHost(delivery.to),
      lease: (limit, taken) =>
        lease(() =>
          store.leaseDeliveries({ ...leaseOf(limit), rank, shares: { most: options.deliveriesPerHost, taken } }),
        ),
      run: async delivery => void (await runInOrder(nameCourse(delivery), () => send(delivery, delivering))),
    })
  const { broadcastSlots = Math.ceil(options.deliverySlots / 2) } = options
  const leased = [turns, deliver('answer', options.deliverySlots), deliver('broadcast', broadcastSlots)] as const
  const broadcasts = createWorkPool<Broadcast>({
    ...shared,
    // One after the other: the posts of a thread go out in their order.
    slots: 1,
    groupOf: () => undefined,
    lease: limit => lease(() => store.leaseBroadcasts(leaseOf(limit))),
    run: broadcast =>
      expandBroadcast(broadcast, { store, platform, channels: turnContext.channels, isClosed: shared.isClosed }),
  })
  const lanes = [...leased, broadcasts]
  const running = () => leased.flatMap(lane => [...lane.running.keys()])
  const wakeAll = () => {
    for (const lane of lanes) lane.wake()
  }
  const unlisten = store.listen('work', wakeAll)
  void watchClock()
  void keepLeases()

  /** Wakes the lanes for what nobody announces: retries that fall due and leases that ran out. */
  async function watchClock(): Promise<void> {
    while (!stopping.signal.aborted) {
      wakeAll()
      const due = await store.nextDue().catch(() => undefined)
      const wait = due === undefined ? longestNapMs : Math.min(longestNapMs, Math.max(50, due - platform.now()))
      await platform.sleep(wait, stopping.signal)
    }
  }

  async function keepLeases(): Promise<void> {
    while (!abandoning.signal.aborted) {
      await platform.sleep(leaseMs / 3, abandoning.signal)
      await Promise.all(running().map(work => store.renew(work, leaseMs).catch(() => undefined)))
    }
  }

  async function settleWithin(ms: number): Promise<void> {
    const settled = new AbortController()
    const all = Promise.all(lanes.map(lane => lane.drain())).then(() => settled.abort())
    await Promise.race([all, platform.sleep(ms, settled.signal)])
  }

  return {
    async stop(graceMs) {
      stopping.abort()
      unlisten()
      await settleWithin(graceMs)
      abandoning.abort(new TurnAborted('shutting_down'))
      await settleWithin(1_000)
    },
  }
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
