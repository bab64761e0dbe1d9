// Extends leases while the clock of this gateway is behind the server's clock, so that other gateways do not lease running work.
import { setTimeout as delay } from 'node:timers/promises'
import type { WorkStore } from '@postern/pipeline'
import type { ServerClock } from './connection/upkeep/server-clock.ts'

type LeaseCalls = Pick<
  WorkStore,
  'leaseTurns' | 'leaseDeliveries' | 'leaseBroadcasts' | 'renew' | 'setTurnConsumer' | 'setDeliveryConsumer'
>

/** The maximum delay of the clock at which new work is inserted with its lease, ms. Such a lease is not extended. */
const maxBehindMs = 3_000

/** Wraps the calls of `store` that lease. Each lease is extended by the delay of the clock, so that it lasts for its full time on the server's clock. */
export function extendLeases(
  store: LeaseCalls,
  { behindMs, settlingMs }: Pick<ServerClock, 'behindMs' | 'settlingMs'>,
): LeaseCalls {
  const { setTurnConsumer, setDeliveryConsumer } = store
  const extendLease = <Request extends { readonly leaseMs: number }>(request: Request): Request => ({
    ...request,
    leaseMs: request.leaseMs + behindMs(),
  })
  async function prepareRequest<Request extends { readonly leaseMs: number }>(request: Request): Promise<Request> {
    const settlingWaitMs = settlingMs()
    if (settlingWaitMs > 0) await delay(settlingWaitMs, undefined, { ref: false })
    return extendLease(request)
  }
  function limitByClock<Ticket, Consumer extends { hasCapacity(ticket: Ticket): boolean }>(
    consumer: Consumer,
  ): Consumer {
    return { ...consumer, hasCapacity: (ticket: Ticket) => behindMs() <= maxBehindMs && consumer.hasCapacity(ticket) }
  }
  return {
    leaseTurns: async request => store.leaseTurns(await prepareRequest(request)),
    leaseDeliveries: async request => store.leaseDeliveries(await prepareRequest(request)),
    leaseBroadcasts: async request => store.leaseBroadcasts(await prepareRequest(request)),
    renew: (work, leaseMs) => store.renew(work, leaseMs + behindMs()),
    ...(setTurnConsumer && { setTurnConsumer: consumer => setTurnConsumer(limitByClock(consumer)) }),
    ...(setDeliveryConsumer && { setDeliveryConsumer: consumer => setDeliveryConsumer(limitByClock(consumer)) }),
  }
}
