// Sends one signed POST to each inbox and does nothing else: the floor of the fan-out.
import { once } from 'node:events'
import type { IncomingMessage, RequestOptions } from 'node:http'
import { Agent, request } from 'node:http'
import type { TrafficSender } from '../activitypub/fediverse.ts'
import { createSenders } from '../activitypub/fediverse.ts'
import { formatDigestField, signCavageHeaders } from '../activitypub/sign-delivery.ts'
import { addressAgent, formatCreateNote } from '../activitypub/traffic.ts'
import type { FanoutOrder, FanoutSetup } from '../orders/fanout.ts'
import { inboxHost } from '../orders/fanout.ts'
import { serveMeasured } from '../servers/child.ts'

/** The number of concurrent requests. */
const width = 64

/** Serves the minimum that every sender needs: for each inbox, one RSA-2048 signature and one POST over a persistent connection. */
await serveMeasured<FanoutSetup>(async ({ port, count }) => {
  const [sender] = (await createSenders(1)) as [TrafficSender]
  const agent = new Agent({ keepAlive: true, maxSockets: width })
  let sentCount = 0
  return {
    port: 0,
    handled: () => sentCount,
    async work(input) {
      const { serial } = input as FanoutOrder
      const body = Buffer.from(formatCreateNote(sender, addressAgent('herald'), serial))
      const digest = formatDigestField(body)
      let next = 0
      const sendRemaining = async () => {
        while (next < count) {
          const index = next++
          const path = `/inboxes/${index}`
          const headers = await signCavageHeaders(sender, { host: inboxHost(index), path }, digest)
          await sendPost({ port, agent, path, headers: { ...headers, 'content-length': body.length } }, body)
          sentCount++
        }
      }
      await Promise.all(Array.from({ length: width }, sendRemaining))
    },
  }
})

async function sendPost(options: RequestOptions, body: Uint8Array): Promise<void> {
  const outgoing = request({ ...options, host: '127.0.0.1', method: 'POST' }).end(body)
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
  answer.resume()
  if (answer.statusCode !== 202) throw new Error(`the sink answered ${answer.statusCode}`)
  await once(answer, 'end')
}
