import { Rejection, Unavailable } from '@postern/core'
import type { SendRequest, Simulation } from '@postern/simulation'
import { findCatalogueEntry, simulationCatalogue } from '@postern/simulation/catalogue'
import type { MiddlewareHandler } from 'hono'
import { Hono } from 'hono'
import { z } from 'zod'
import { simulatedChannels } from '../channels.ts'
import { readOperatorRequest } from '../commands/request.ts'
import type { Gateway } from '../gateway.ts'

const maxBytes = 1024 * 1024
/** Silence is what is expected then, ms. */
const silenceMs = 1_000
const faults = simulationCatalogue.faults.map(({ fault }) => fault)
const visibilities = Object.values(simulationCatalogue.visibilities).flat()

const simulatedSendSchema = z.strictObject({
  via: z.enum(simulatedChannels as SendRequest['via'][]),
  to: z.string().min(1),
  text: z.string(),
  from: z.string().min(1).optional(),
  visibility: z.enum(visibilities).optional(),
  fault: z.enum(faults).optional(),
  thread: z.string().min(1).optional(),
})

const rules: Readonly<Record<string, string>> = {
  via: `"via" must be one of ${simulatedChannels.join(', ')}`,
  to: '"to" must name an agent',
  text: '"text" must be text',
  from: '"from" must name a persona; GET /operator/api/simulation lists them',
  visibility: `"visibility" must be one of ${visibilities.join(', ')}`,
  fault: `"fault" must be one of ${faults.join(', ')}`,
  thread: '"thread" must be the thread of an earlier result',
}

const describeProblem = (path: string) =>
  `Cannot send: ${rules[path] ?? `expected an object with ${Object.keys(rules).join(', ')} and nothing else`}`

/** Lets `postern send` and the console speak through the simulation; dev mode only, operator only. */
export function createSimulationRoutes(simulation: Simulation, operatorOnly: MiddlewareHandler): Hono {
  return new Hono()
    .get('/operator/api/simulation', operatorOnly, context => context.json(simulationCatalogue))
    .post('/operator/api/simulation/send', operatorOnly, async context => {
      const request = await readOperatorRequest(context, simulatedSendSchema, { problem: describeProblem, maxBytes })
      const { expected } = findEntry(request)
      const waiting = expected.outcome === 'kept' ? { timeoutMs: silenceMs } : {}
      const sent = await simulation.send({ ...request, ...waiting }).catch(cause => {
        throw new Unavailable(`Cannot send: ${cause instanceof Error ? cause.message : 'it failed'}`, { cause })
      })
      return context.json({ ...sent, expected })
    })
}

function findEntry(request: SendRequest): ReturnType<typeof findCatalogueEntry> {
  try {
    return findCatalogueEntry(request)
  } catch (cause) {
    throw new Rejection('malformed', `Cannot send: ${cause instanceof Error ? cause.message : 'unknown'}`, { cause })
  }
}

/** Publishes in the simulated DNS what the gateway's operator would publish in the real one. */
export async function publishKeys(simulation: Simulation, { channels }: Gateway): Promise<void> {
  const published = await Promise.all(channels.map(channel => channel.publishedKeys()))
  for (const { dns } of published.flat()) {
    if (dns) simulation.dns.addRecord(dns.name, dns.type, dns.value)
  }
}
