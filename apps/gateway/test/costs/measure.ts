// Measures the costs of one message by waves of messages.
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Company, CostKind } from './ceilings.ts'
import type { CountedProcess, ProcessCounts } from './counted-process.ts'
import type { CostEndpoint, PreparedRequest } from './requests.ts'
import { requestPreparers } from './requests.ts'

/** The costs of one message. */
export type MessageCost = Readonly<Record<CostKind, number>>

interface WavePlan {
  /** The number of messages in a wave. */
  readonly size: number
  /** The number of waves. */
  readonly count: number
  /** Selects one of the figures of all waves, lowest first. */
  readonly select: (sorted: readonly number[], kind: CostKind) => number | undefined
}

/** The kinds whose figures a poll raises most. */
const pollingKinds: ReadonlySet<CostKind> = new Set(['promises', 'rounds'])

/**
 * The plan of the waves. Once a second the gateway also polls for work that other gateways left, so the statements and bytes of single messages count
 * with the median of their waves. Their promises and round trips count with the lowest figure: on a busy machine a wave takes as long as a second, so
 * most waves contain a poll. Batches count with their lowest figure, because on a busy machine the messages of some waves do not overlap.
 */
const waves: Readonly<Record<Company, WavePlan>> = {
  alone: { size: 1, count: 15, select: (sorted, kind) => sorted[pollingKinds.has(kind) ? 0 : sorted.length >> 1] },
  together: { size: 64, count: 5, select: sorted => sorted[0] },
}

/**
 * The number of successive samples without a request to the store after which the gateway has settled a wave, and the time between samples.
 */
const [requiredSamples, sampleMs] = [3, 10]

/** A serial number that no other request of this process has. */
let serial = Date.now() * 1000

interface Traffic {
  readonly endpoint: CostEndpoint
  readonly agent: string
  readonly company: Company
}

/** Measures the costs of one message. @throws Error when a message is refused */
export async function measureCost(gateway: CountedProcess, traffic: Traffic): Promise<MessageCost> {
  const { size, count, select } = waves[traffic.company]
  const connections = new Agent({ keepAlive: true, maxSockets: size })
  const costs: MessageCost[] = []
  try {
    // After this wave, keys, actors, DNS answers and connections exist.
    await sendWave(gateway, traffic, connections)
    await gateway.emptyLog()
    while (costs.length < count) costs.push(await measureWave(gateway, traffic, connections))
    return mapKinds(
      kind =>
        select(
          costs.map(cost => cost[kind]).toSorted((a, b) => a - b),
          kind,
        ) ?? Number.NaN,
    )
  } finally {
    connections.destroy()
  }
}

async function measureWave(gateway: CountedProcess, traffic: Traffic, connections: Agent): Promise<MessageCost> {
  const [countsBefore, bytesBefore] = [await gateway.readCounts(), gateway.readBytes()]
  await sendWave(gateway, traffic, connections)
  const [countsAfter, bytesAfter] = [await gateway.readCounts(), gateway.readBytes()]
  const [from, to] = [withBytes(countsBefore, bytesBefore), withBytes(countsAfter, bytesAfter)]
  return mapKinds(kind => (to[kind] - from[kind]) / waves[traffic.company].size)
}

function withBytes(counts: ProcessCounts, bytes: number): ProcessCounts & MessageCost {
  return { ...counts, kibibytes: bytes / 1024 }
}

function mapKinds(compute: (kind: CostKind) => number): MessageCost {
  return {
    statements: compute('statements'),
    commits: compute('commits'),
    kibibytes: compute('kibibytes'),
    promises: compute('promises'),
    rounds: compute('rounds'),
  }
}

async function sendWave(gateway: CountedProcess, { endpoint, agent, company }: Traffic, sockets: Agent): Promise<void> {
  const { size } = waves[company]
  const { turns, arrivals } = await gateway.readCounts()
  const prepared = await prepareWave(gateway, endpoint, agent, size)
  await Promise.all(prepared.map(request => sendRequest(gateway.port, sockets, request)))
  const isPosting = endpoint === 'activitypub' && agent === 'brief'
  await untilSettled(gateway, { turns: turns + size, arrivals: arrivals + (isPosting ? size : 0) })
}

function prepareWave(
  { simulation }: CountedProcess,
  endpoint: CostEndpoint,
  agent: string,
  size: number,
): Promise<readonly PreparedRequest[]> {
  return Promise.all(Array.from({ length: size }, () => requestPreparers[endpoint](simulation, agent, serial++)))
}

/** Sends one prepared request. @throws Error when it is refused */
async function sendRequest(port: number, agent: Agent, prepared: PreparedRequest): Promise<void> {
  const answer = await exchange(port, agent, prepared)
  const answerText = await text(answer)
  const status = answer.statusCode ?? 0
  if (status < 300 && !answerText.includes('"error"')) return
  throw new Error(`${prepared.path} was refused: ${status} ${answerText}`)
}

/** Sends a request, and repeats it if the gateway closed an idle connection in the moment of its use. */
function exchange(port: number, agent: Agent, prepared: PreparedRequest): Promise<IncomingMessage> {
  const { path, headers, body } = prepared
  const ownHeaders = { host: 'agents.test', ...headers, 'content-length': body.length }
  return new Promise((resolve, reject) => {
    const outgoing = request({ port, agent, path, method: 'POST', headers: ownHeaders })
    outgoing.once('response', resolve)
    outgoing.once('error', (error: NodeJS.ErrnoException) => {
      if (outgoing.reusedSocket && error.code === 'ECONNRESET') resolve(exchange(port, agent, prepared))
      else reject(error)
    })
    outgoing.end(body)
  })
}

async function untilSettled(
  gateway: CountedProcess,
  expected: Pick<ProcessCounts, 'turns' | 'arrivals'>,
): Promise<void> {
  let lastCounts = await gateway.readCounts()
  for (let unchangedSamples = 0; unchangedSamples < requiredSamples; ) {
    await sleep(sampleMs)
    const currentCounts = await gateway.readCounts()
    const isThere = currentCounts.turns >= expected.turns && currentCounts.arrivals >= expected.arrivals
    const isQuiet = currentCounts.statements === lastCounts.statements && currentCounts.rounds === lastCounts.rounds
    unchangedSamples = isThere && isQuiet ? unchangedSamples + 1 : 0
    lastCounts = currentCounts
  }
}
