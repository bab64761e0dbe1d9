// Creates a pool of deliveries, of answers or of broadcasts.
import { callerGroupPrefix, callerGroups, findShareGroup, mailGroup } from '@postern/message'
import type { Delivery } from '../../ports/records/work/delivery.ts'
import type { DeliveryRank } from '../../ports/records/work/lease-request.ts'
import type { DeliveryTicket } from '../../ports/store/work-store.ts'
import { sendDelivery } from '../send.ts'
import { rememberGroups } from './concurrency.ts'
import type { PoolDeps } from './pool-deps.ts'
import { createConsumer, leaseWork, readPoolOptions } from './pool-deps.ts'
import type { WorkPool } from './work-pool.ts'
import { createWorkPool } from './work-pool.ts'

export type DeliveryPool = WorkPool<Delivery, DeliveryTicket>

/** The divisor of the slots that gives a quarter of them to all mail, which goes to one server, and another to the addresses that callers name. */
const largeShare = 4

/** The time after which a delivery counts as slow, in ms, and the number of slow deliveries that may run without a slot. */
const [slowAfterMs, slowSlots] = [500, 512] as const

interface DeliveryPoolOptions {
  readonly rank: DeliveryRank
  readonly slots: number
}

export function createDeliveryPool(deps: PoolDeps, { rank, slots }: DeliveryPoolOptions): DeliveryPool {
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
  async function sendWithoutBlocking(delivery: Delivery): Promise<void> {
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
    slowWork: slowDeliveries,
    countsAlone: true,
    lease: (limit, usedByGroup) =>
      leaseWork(
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
    run: sendWithoutBlocking,
  })
  const consumer = createConsumer(deliveries, options, { maxPerGroup: maxPerHost, maxByGroup })
  if (rank === 'answer') store.setDeliveryConsumer?.(consumer)
  return deliveries
}
