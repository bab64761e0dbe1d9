import { Rejection, Unavailable } from '@postern/core'
import { parseBoundedJson, readBody } from '@postern/http'
import type { SendRequest, Simulation } from '@postern/simulation'
import type { MiddlewareHandler } from 'hono'
import { Hono } from 'hono'
import { simulatedChannels } from '../channels.ts'
import type { Gateway } from '../gateway.ts'

const maxBytes = 1024 * 1024

/** Lets `postern send` speak through the simulation; dev mode only, operator only. */
export function createSimulationRoutes(simulation: Simulation, operatorOnly: MiddlewareHandler): Hono {
  return new Hono().post('/operator/api/simulation/send', operatorOnly, async context => {
    const bytes = await readBody(context.req.raw, maxBytes)
    const { via, to, text, thread } = readWords(parseBoundedJson(bytes, { maxDepth: 2, what: 'request' }))
    if (!via || !simulatedChannels.includes(via) || !to || text === undefined) {
      throw new Rejection(
        'malformed',
        `Cannot send: expected "via" (one of ${simulatedChannels.join(', ')}), "to" and "text"`,
      )
    }
    const request = { via: via as SendRequest['via'], to, text, ...(thread && { thread }) }
    const sent = await simulation.send(request).catch(cause => {
      throw new Unavailable(`Cannot send: ${cause instanceof Error ? cause.message : 'it failed'}`, { cause })
    })
    return context.json(sent)
  })
}

/** What is no text is as if it were absent. */
function readWords(body: unknown): Readonly<Record<string, string | undefined>> {
  const words = Object.entries(body ?? {}).filter(([, value]) => typeof value === 'string')
  return Object.fromEntries(words)
}

/** Publishes in the simulated DNS what the gateway's operator would publish in the real one. */
export async function publishKeys(simulation: Simulation, { channels }: Gateway): Promise<void> {
  const published = await Promise.all(channels.map(channel => channel.publishedKeys()))
  for (const { dns } of published.flat()) {
    if (dns) simulation.dns.addRecord(dns.name, dns.type, dns.value)
  }
}
