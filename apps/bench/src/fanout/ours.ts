// Runs the gateway with an agent that posts to all its followers.
import type { RelationEffect, Store } from '@postern/pipeline'
import { makeIntake } from '../growth/stock.ts'
import type { FanoutOrder, FanoutSetup } from '../orders/fanout.ts'
import { inboxHost } from '../orders/fanout.ts'
import { runSendingGateway } from '../ours/sending.ts'

const agent = 'herald'

/** Runs the gateway with an agent that posts to all its followers whenever it gets a message. */
await runSendingGateway<FanoutSetup, FanoutOrder>(({ port, count }) => ({
  config: {
    network: { loopback: Object.fromEntries(Array.from({ length: count }, (_, index) => [inboxHost(index), port])) },
  },
  prepare: store => addFollowers(store, count),
  async admit(store, { serial }) {
    await store.admit(makeIntake(Number(serial), agent), `bench-${serial}`)
    return count
  },
}))

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
