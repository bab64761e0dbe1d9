// Runs a gateway that sends on command and waits until every delivery is settled.
import type { Store } from '@postern/pipeline'
import { serveMeasured } from '../servers/child.ts'
import type { GatewaySetup } from './open.ts'
import { openBenchGateway } from './open.ts'

interface SendingGateway<Order> {
  readonly config: GatewaySetup['tree']
  /** Prepares the store before the gateway begins to work. */
  prepare?(store: Store): Promise<void>
  /** Admits messages that make agents send. @returns the number of deliveries that result */
  admit(store: Store, order: Order): Promise<number>
}

/** Runs this process as a gateway that sends on command; an order is done when all its deliveries are settled. */
export function runSendingGateway<Setup, Order>(createGateway: (setup: Setup) => SendingGateway<Order>): Promise<void> {
  return serveMeasured<Setup>(async setup => {
    const { config, prepare, admit } = createGateway(setup)
    const { gateway, close } = await openBenchGateway(config)
    await prepare?.(gateway.store)
    await gateway.start()
    const countSent = async () => (await gateway.store.count()).deliveries.sent
    return {
      port: 0,
      handled: countSent,
      async work(order) {
        const sentBefore = await countSent()
        const count = await admit(gateway.store, order as Order)
        while ((await countSent()) < sentBefore + count) await new Promise(resolve => setTimeout(resolve, 10))
      },
      close,
    }
  })
}
