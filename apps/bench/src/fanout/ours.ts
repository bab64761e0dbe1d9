import type { RelationEffect, Store } from '@postern/core'
import { makeIntake } from '../growth/stock.ts'
import type { FanoutOrder, FanoutSetup } from '../orders/fanout.ts'
import { inboxHost } from '../orders/fanout.ts'
import { openTemporaryGateway } from '../ours/open.ts'
import { serveMeasured } from '../servers/child.ts'

const agent = 'herald'

/** The gateway, and an agent that posts to all who follow it whenever somebody wakes it. */
await serveMeasured<FanoutSetup>(async ({ port, count }) => {
  const loopback = Object.fromEntries(Array.from({ length: count }, (_, index) => [inboxHost(index), port]))
  const { gateway, close } = await openTemporaryGateway({ network: { loopback } })
  await addFollowers(gateway.store, count)
  await gateway.start()
  const countSent = async () => (await gateway.store.count()).deliveries.sent
  return {
    port: 0,
    handled: countSent,
    async work(given) {
      const { serial } = given as FanoutOrder
      const before = await countSent()
      await gateway.store.admit(makeIntake(Number(serial), agent), `bench-${serial}`)
      while ((await countSent()) < before + count) await new Promise(resolve => setTimeout(resolve, 10))
    },
    close,
  }
})

async function addFollowers(store: Store, count: number): Promise<void> {
  const effects = Array.from({ length: count }, (_, index): RelationEffect => {
    const origin = `https://${inboxHost(index)}`
    return {
      kind: 'relate',
      relation: 'follower',
      peer: `${origin}/users/${index}`,
      target: { inbox: `${origin}/inboxes/${index}` },
    }
  })
  await store.admit({ ...makeIntake(0, agent), disposition: 'keep', effects }, 'bench-followers')
}
