import type { Listening } from '@postern/core'
import { Rejection, Unavailable } from '@postern/core'
import type { SendRequest, Simulation } from '@postern/simulation'
import { findCatalogueEntry, simulationCatalogue } from '@postern/simulation/catalogue'
import { z } from 'zod'
import type { OperatorRoute } from '../api/operation.ts'
import { handleOperation } from '../api/operation.ts'
import { simulatedChannels } from '../channels.ts'
import { simulationOperations } from '../commands/send/operations.ts'
import { listSlices } from '../config/channel-slices.ts'
import type { Config } from '../config/schema.ts'
import type { Gateway } from '../gateway.ts'

/** Silence is what is expected then, ms. */
const silenceMs = 1_000
/** Somebody sits and waits: an agent that is slower than this answers later, where the flow shows it. */
const replyMs = 10_000

const { body } = simulationOperations.send
/** With what the simulation knows. */
const send = {
  ...simulationOperations.send,
  body: {
    ...body,
    schema: body.schema.extend({
      via: z.enum(simulatedChannels as SendRequest['via'][]),
      visibility: z.enum(Object.values(simulationCatalogue.visibilities).flat()).optional(),
      fault: z.enum(simulationCatalogue.faults.map(({ fault }) => fault)).optional(),
    }),
  },
}

/** Lets `postern send` and the console speak through the simulation; dev mode only. */
export function createSimulationRoutes(simulation: Pick<Simulation, 'send'>): readonly OperatorRoute[] {
  return [
    handleOperation(simulationOperations.describe, async () => simulationCatalogue),
    handleOperation(send, async ({ body: request }) => {
      const { expected } = findEntry(request)
      const timeoutMs = expected.outcome === 'kept' ? silenceMs : replyMs
      const sent = await simulation.send({ ...request, timeoutMs }).catch(cause => {
        throw new Unavailable(`Cannot send: ${cause instanceof Error ? cause.message : 'it failed'}`, { cause })
      })
      return { ...sent, expected }
    }),
  ]
}

function findEntry(request: SendRequest): ReturnType<typeof findCatalogueEntry> {
  try {
    return findCatalogueEntry(request)
  } catch (cause) {
    throw new Rejection('malformed', `Cannot send: ${cause instanceof Error ? cause.message : 'unknown'}`, { cause })
  }
}

/** Lets the simulated network know where the gateway is. */
export function connectSimulation(simulation: Simulation, config: Config, listening: readonly Listening[]): void {
  const [http] = listening
  const mail = listening.find(({ label }) => label === 'mail')
  const secrets = listSlices(config).map(slice => slice.module.simulatedSecret?.(slice.config))
  simulation.connectGateway({
    origin: config.origin,
    handleHost: config.handle_host,
    port: http?.port ?? 0,
    smtpPort: mail?.port,
    intakeSecret: secrets.find(secret => secret !== undefined),
  })
}

/** Publishes in the simulated DNS what the gateway's operator would publish in the real one. */
export async function publishKeys(simulation: Simulation, { channels }: Gateway): Promise<void> {
  const published = await Promise.all(channels.map(channel => channel.publishedKeys()))
  for (const { dns } of published.flat()) {
    if (dns) simulation.dns.addRecord(dns.name, dns.type, dns.value)
  }
}
