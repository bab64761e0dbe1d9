import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Company, CostKind } from './ceilings.ts'
import type { CountedProcess, ProcessCounts } from './counted-process.ts'
import type { CostEndpoint, PreparedRequest } from './requests.ts'
import { prepareRequest } from './requests.ts'

/** Per message. */
export type MessageCost = Readonly<Record<CostKind, number>>

/** How many messages come at a time, and how often. */
const waves: Readonly<Record<Company, { readonly size: number; readonly count: number }>> = {
  alone: { size: 1, count: 16 },
  together: { size: 64, count: 3 },
}

/** A gateway whose turns have begun, and whose posts have arrived, has settled them once it asks nothing of its store from look to look. */
const [looks, lookMs] = [3, 10]
const idleMs = 3_000

/** A number that no request of this process has had. */
let serial = Date.now() * 1000

interface Traffic {
  readonly endpoint: CostEndpoint
  readonly agent: string
  readonly company: Company
  readonly idle: Rates
}

/** In a millisecond. */
type Rates = Readonly<Record<CountedKind, number>>
type CountedKind = 'statements' | 'commits' | 'promises' | 'rounds'

/** What a gateway without messages does: it looks for work that others left over. */
export async function measureIdle(gateway: CountedProcess): Promise<Rates> {
  const before = await gateway.readCounts()
  const begun = performance.now()
  await sleep(idleMs)
  const after = await gateway.readCounts()
  const passedMs = performance.now() - begun
  return mapKinds(kind => (after[kind] - before[kind]) / passedMs)
}

/** What one message costs beyond what the idle gateway does in the same time. @throws Error when a message is refused */
export async function measureCost(gateway: CountedProcess, traffic: Traffic): Promise<MessageCost> {
  const { size, count } = waves[traffic.company]
  const connections = new Agent({ keepAlive: true, maxSockets: size })
  try {
    // Keys, actors, DNS answers and connections are there from now on.
    await sendWave(gateway, traffic, connections)
    const bytesBefore = await gateway.emptyLog()
    const before = await gateway.readCounts()
    const begun = performance.now()
    for (let wave = 0; wave < count; wave += 1) await sendWave(gateway, traffic, connections)
    const after = await gateway.readCounts()
    const passedMs = performance.now() - begun
    const kibibytes = (gateway.readBytes() - bytesBefore) / 1024 / (size * count)
    const counted = mapKinds(kind => (after[kind] - before[kind] - traffic.idle[kind] * passedMs) / (size * count))
    return { ...counted, kibibytes }
  } finally {
    connections.destroy()
  }
}

function mapKinds(compute: (kind: CountedKind) => number): Rates {
  const [statements, commits, promises] = [compute('statements'), compute('commits'), compute('promises')]
  return { statements, commits, promises, rounds: compute('rounds') }
}

async function sendWave(gateway: CountedProcess, { endpoint, agent, company }: Traffic, sockets: Agent): Promise<void> {
  const { size } = waves[company]
  const { turns, arrivals } = await gateway.readCounts()
  const prepared = await prepareWave(gateway, endpoint, agent, size)
  await Promise.all(prepared.map(each => send(gateway.port, sockets, each)))
  const isPosting = endpoint === 'activitypub' && agent === 'brief'
  await untilSettled(gateway, { turns: turns + size, arrivals: arrivals + (isPosting ? size : 0) })
}

function prepareWave(
  { simulation }: CountedProcess,
  endpoint: CostEndpoint,
  agent: string,
  size: number,
): Promise<readonly PreparedRequest[]> {
  return Promise.all(Array.from({ length: size }, () => prepareRequest[endpoint](simulation, agent, serial++)))
}

/** @throws Error when it is refused */
async function send(port: number, agent: Agent, { path, headers, body }: PreparedRequest): Promise<void> {
  const own = { host: 'agents.test', ...headers, 'content-length': body.length }
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = request({ port, agent, path, method: 'POST', headers: own })
    outgoing.once('response', resolve).once('error', reject).end(body)
  })
  const answered = await text(answer)
  const status = answer.statusCode ?? 0
  if (status >= 300 || answered.includes('"error"')) throw new Error(`${path} was refused: ${status} ${answered}`)
}

async function untilSettled(
  gateway: CountedProcess,
  expected: Pick<ProcessCounts, 'turns' | 'arrivals'>,
): Promise<void> {
  let last = await gateway.readCounts()
  for (let same = 0; same < looks; ) {
    await sleep(lookMs)
    const now = await gateway.readCounts()
    const isThere = now.turns >= expected.turns && now.arrivals >= expected.arrivals
    const isQuiet = now.statements === last.statements && now.rounds === last.rounds
    same = isThere && isQuiet ? same + 1 : 0
    last = now
  }
}
