import { parseJsonText, Rejection, Unavailable } from '@postern/core'
import type { SimWorld } from '@postern/sim'
import type { MiddlewareHandler } from 'hono'
import { Hono } from 'hono'
import type { Gateway } from '../gateway.ts'

const channels: ReadonlySet<string> = new Set(['activitypub', 'a2a', 'email'])

/** Lets `postern send` speak through the simulated world; dev mode only, operator only. */
export function createSimulationRoutes(world: SimWorld, operatorOnly: MiddlewareHandler): Hono {
  return new Hono().post('/operator/api/simulation/send', operatorOnly, async context => {
    const { via, to, text, thread } = parseJsonText(await context.req.text()) as Record<string, string | undefined>
    if (!via || !channels.has(via) || !to || text === undefined) {
      throw new Rejection('malformed', 'Cannot send: expected "via" (activitypub, a2a or email), "to" and "text"')
    }
    const request = { via: via as 'activitypub' | 'a2a' | 'email', to, text, ...(thread && { thread }) }
    const sent = await world.send(request).catch(cause => {
      throw new Unavailable(`Cannot send: ${cause instanceof Error ? cause.message : 'it failed'}`, { cause })
    })
    return context.json(sent)
  })
}

/** Publishes in the simulated DNS what the gateway's operator would publish in the real one. */
export async function publishKeys(world: SimWorld, { channels }: Gateway): Promise<void> {
  const published = await Promise.all(channels.map(channel => channel.publishedKeys()))
  for (const { dns } of published.flat()) {
    if (dns) world.dns.addRecord(dns.name, dns.type, dns.value)
  }
}
