// Lets operators send messages from the simulation, and connects the simulation to the gateway.
import { ReadableStream } from 'node:stream/web'
import { setTimeout as sleep } from 'node:timers/promises'
import { Rejection, Unavailable } from '@postern/message'
import type { EncodedFile, OperatorRoute, SendProgress, SentMessage } from '@postern/operator'
import { handleOperation, simulationOperations } from '@postern/operator'
import type { ListeningSocket, MessageRecord } from '@postern/pipeline'
import type {
  AcknowledgedMessage,
  SendRequest,
  SendResult,
  SentFilePart,
  SentPart,
  Simulation,
} from '@postern/simulation'
import { findCatalogueEntry, simulationCatalogue } from '@postern/simulation/catalogue'
import { z } from 'zod'
import { simulatedChannels } from '../channels.ts'
import { listSlices } from '../config/channel-slices.ts'
import type { Config } from '../config/schema.ts'
import type { Gateway } from '../gateway.ts'
import type { DecidingGateway } from './decide.ts'
import { decideByReference } from './decide.ts'

/** The time, beyond the agent’s own, for a turn to start and its answer to arrive, ms. */
const turnOverheadMs = 5_000
/** The wait for an answer of an agent that does not exist, ms. */
const unknownAgentMs = 10_000
/** The time between two polls of a message's record while a command awaits its answer, ms. */
const pollMs = 250
/** The time for an answer to arrive after the record says that it was delivered, ms. */
const arrivalMs = 1_000
/** The time between two lines that report to a client that the agent is still working, ms. */
const progressMs = 10_000

const { body } = simulationOperations.send
/** The operation `send`, with the names that the simulation knows. */
const sendOperation = {
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

/** The agents and messages of the gateway that answers. */
interface AnsweringGateway {
  readonly agents: Pick<Gateway['agents'], 'find'>
  readonly store: Pick<Gateway['store']['forOperators'], 'findMessage'>
}

interface SimulationRouteDeps {
  readonly simulation: Pick<Simulation, 'send' | 'listInbox' | 'follow'>
  /** Finds the gateway, which opens after its routes are created. */
  findGateway(): AnsweringGateway & { readonly decidingGateway: DecidingGateway }
}

const ndjsonType = 'application/x-ndjson'

/** Creates the routes that let `postern send` and the console send through the simulation, in dev mode only. */
export function createSimulationRoutes(deps: SimulationRouteDeps): readonly OperatorRoute[] {
  return [
    handleOperation(simulationOperations.describe, async () => simulationCatalogue),
    handleOperation(sendOperation, async ({ body: { timeout_seconds: seconds, files = [], ...fields }, context }) => {
      const request = { ...fields, parts: files.map(toSentPart) }
      const { expected } = findRequestEntry(request)
      const timeoutMs = seconds === undefined ? findWaitMs(request.to, deps) : seconds * 1000
      const clientSignal = context.req.raw.signal
      const { storedMessage: stored, result } = startSending({ ...request, timeoutMs }, { ...deps, clientSignal })
      const answer = result.then((sentResult): SentMessage => ({ ...sentResult, expected }))
      if (!context.req.header('accept')?.includes(ndjsonType)) return context.json(await answer)
      const message = await Promise.race([stored, answer.then(() => undefined)])
      const lines = writeProgressLines(
        message && { ...message, status: 'working', wait_seconds: timeoutMs / 1000 },
        answer,
      )
      return new Response(ReadableStream.from(lines) as BodyInit, { headers: { 'content-type': ndjsonType } })
    }),
    ...createPersonaRoutes(deps),
  ]
}

/** Creates the routes that give tests in other languages the functions of `postern/testing`. */
function createPersonaRoutes({ simulation, findGateway }: SimulationRouteDeps): readonly OperatorRoute[] {
  return [
    handleOperation(simulationOperations.inbox, async ({ query: { persona } }) => {
      const items = await simulation.listInbox(persona).catch(createRefusal('no_recipient'))
      return { items: items.map(({ raw, files, ...item }) => ({ ...item, files: files.map(toCarriedFile) })) }
    }),
    handleOperation(simulationOperations.follow, async ({ body: { persona, agent } }) => {
      await simulation.follow(persona, agent).catch(createRefusal('forbidden'))
      return { persona, agent }
    }),
    handleOperation(
      simulationOperations.decide,
      async ({ body: { requirement, message, outcome, arguments: args } }) => {
        const { store, decidingGateway } = findGateway()
        const record = message === undefined ? undefined : await store.findMessage(message)
        const number = await decideByReference(
          requirement ?? { number: record?.number },
          { outcome, args },
          decidingGateway,
        ).catch(createRefusal('forbidden'))
        return { message: number }
      },
    ),
  ]
}

const createRefusal = (code: 'no_recipient' | 'forbidden') => (cause: unknown) => {
  throw new Rejection(code, cause instanceof Error ? cause.message : 'It failed', { cause })
}

function toCarriedFile({ name, mime, bytes }: SentFilePart): EncodedFile {
  return { name, mime, data_base64: Buffer.from(bytes).toString('base64') }
}

function toSentPart({ name, mime, data_base64 }: EncodedFile): SentPart {
  return { kind: 'file', name, mime, bytes: Buffer.from(data_base64, 'base64') }
}

/** Returns the time that an answer of this agent may take, ms. */
function findWaitMs(to: string, { findGateway }: SimulationRouteDeps): number {
  const [name = ''] = to.replace(/^@/, '').toLowerCase().split('@')
  const { deadlineMs = unknownAgentMs } = findGateway().agents.find(name) ?? {}
  return deadlineMs + turnOverheadMs
}

interface StartedSend {
  readonly storedMessage: Promise<AcknowledgedMessage>
  /** Rejects with Unavailable if the gateway stored nothing. */
  readonly result: Promise<SendResult>
}

/** Sends a message, and waits for its answer, the end of its turn or the timeout. */
function startSending(
  request: SendRequest,
  { simulation, findGateway, clientSignal }: SimulationRouteDeps & { readonly clientSignal: AbortSignal },
): StartedSend {
  const acknowledgement = Promise.withResolvers<AcknowledgedMessage>()
  const [waitEnd, pollEnd] = [new AbortController(), new AbortController()]
  const signal = AbortSignal.any([waitEnd.signal, clientSignal])
  let message: AcknowledgedMessage | undefined
  let isOver = false
  const onStored = (storedMessage: AcknowledgedMessage) => {
    message = storedMessage
    acknowledgement.resolve(storedMessage)
    awaitTurn(storedMessage.id, findGateway(), pollEnd.signal).then(
      () => {
        isOver = true
        waitEnd.abort()
      },
      () => undefined,
    )
  }
  const toSendResult = (cause: unknown): SendResult => {
    if (message) return { ...message, status: 'no_reply' }
    throw new Unavailable(`Cannot send: ${cause instanceof Error ? cause.message : 'it failed'}`, { cause })
  }
  const result = simulation
    .send({ ...request, signal, onStored })
    .catch(toSendResult)
    .finally(() => pollEnd.abort())
    .then(sendResult =>
      sendResult.status === 'no_reply' && !isOver ? { ...sendResult, status: 'working' } : sendResult,
    )
  return { storedMessage: acknowledgement.promise, result }
}

/** Resolves once the turn of a message has ended and its answer has had time to arrive. @throws Error when `signal` aborts first */
async function awaitTurn(id: string, { store }: AnsweringGateway, signal: AbortSignal): Promise<void> {
  for (;;) {
    const record = await store.findMessage(id).catch(() => undefined)
    if (record && isMessageOver(record)) break
    await sleep(pollMs, undefined, { signal })
  }
  await sleep(arrivalMs, undefined, { signal })
}

/** Returns true if the turn of a message has ended, along with every delivery of its answer. */
export function isMessageOver({ state, deliveries }: MessageRecord): boolean {
  const isAnswering = state === 'received' || state === 'working'
  return !isAnswering && deliveries.every(({ state: delivery }) => delivery !== 'queued' && delivery !== 'later')
}

/** Writes the progress at once and repeatedly while the agent works, and the result as the last line. */
async function* writeProgressLines(
  progress: SendProgress | undefined,
  answer: Promise<SentMessage>,
): AsyncGenerator<Uint8Array> {
  const encode = (line: object) => new TextEncoder().encode(`${JSON.stringify(line)}\n`)
  let sentMessage: SentMessage | undefined
  do {
    if (progress) yield encode(progress)
    sentMessage = await Promise.race([answer, sleep(progressMs, undefined, { ref: false })])
  } while (!sentMessage)
  yield encode(sentMessage)
}

function findRequestEntry(request: SendRequest): ReturnType<typeof findCatalogueEntry> {
  try {
    return findCatalogueEntry(request)
  } catch (cause) {
    throw new Rejection('malformed', `Cannot send: ${cause instanceof Error ? cause.message : 'unknown'}`, { cause })
  }
}

/** Sets the address of the gateway in the simulated network. */
export function connectSimulation(simulation: Simulation, config: Config, listening: readonly ListeningSocket[]): void {
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

/** Publishes the gateway’s DNS records in the simulated DNS, as its operator would in the real one. */
export async function publishKeys(simulation: Simulation, { channels }: Gateway): Promise<void> {
  const keysByChannel = await Promise.all(channels.map(channel => channel.keys?.list() ?? []))
  for (const { dns } of keysByChannel.flat()) {
    if (dns) simulation.dns.addRecord(dns.name, dns.type, dns.value)
  }
}
