import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Desk, Intake } from '@postern/core'
import { makeIntake } from '../growth/conversation.ts'
import { serveMeasured } from '../harness/server-child.ts'
import { gatewayHost } from '../ours/describe.ts'
import { openMeasuredGateway } from '../ours/open.ts'
import type { FanoutOrder, FanoutSetup } from './order.ts'
import { inboxHost, said } from './order.ts'

const actor = `https://${gatewayHost}/agents/brief`

/** The gateway with a thousand deliveries of one document in its store, which its worker makes. */
await serveMeasured<FanoutSetup>(async ({ port, count: inboxes }) => {
  const directory = mkdtempSync(join(tmpdir(), 'postern-bench-'))
  const loopback = Object.fromEntries(Array.from({ length: inboxes }, (_, index) => [inboxHost(index), port]))
  const gateway = await openMeasuredGateway({ directory, tree: { network: { loopback } } })
  await gateway.start()
  const countSent = async () => (await gateway.desk.count()).deliveries.sent
  return {
    port: 0,
    handled: countSent,
    async work(given) {
      const order = given as FanoutOrder
      const before = await countSent()
      await queueDeliveries(gateway.desk, order)
      while ((await countSent()) < before + order.count) await new Promise(resolve => setTimeout(resolve, 10))
    },
    close: async () => {
      await gateway.stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
})

async function queueDeliveries(desk: Desk, { count, serial }: FanoutOrder): Promise<void> {
  const document = formatPost(serial)
  const inboxes = Array.from({ length: count }, (_, index) => `https://${inboxHost(index)}/inboxes/${index}`)
  const deliveries = inboxes.map(inbox => ({ to: inbox, target: { handshake: document, inbox } }))
  const intake: Intake = { ...makeIntake(Number(serial)), disposition: 'keep', deliveries }
  await desk.admit(intake, `bench-${serial}`)
}

function formatPost(serial: string) {
  const id = `${actor}/posts/${serial}`
  const to = ['https://www.w3.org/ns/activitystreams#Public']
  const published = new Date().toISOString()
  const object = { id, type: 'Note', attributedTo: actor, published, to, content: `<p>${said}</p>` }
  const context = 'https://www.w3.org/ns/activitystreams'
  return { '@context': context, id: `${id}/activity`, type: 'Create', actor, published, to, object }
}
