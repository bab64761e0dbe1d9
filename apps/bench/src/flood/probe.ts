// Measures honest deliveries while an attacker floods the same inbox, and what a refused post costs.
import { isAccepted202, openTraffic } from '../activitypub/traffic.ts'
import { settleServer } from '../harness/measure.ts'
import type { Figure, ProbeOptions } from '../harness/tables/figure.ts'
import { warmUpServers } from '../harness/warm-up.ts'
import { describeBenchGateway } from '../ours/open.ts'
import type { ServerProcess } from '../servers/process.ts'
import { startServer } from '../servers/process.ts'
import type { FloodedRound, FloodRound } from './figures.ts'
import { toFloodFigures } from './figures.ts'
import type { FloodOrder, FloodResult } from './flooder.ts'
import type { FloodPlan } from './floods.ts'
import { floods } from './floods.ts'
import type { HonestTraffic } from './honest.ts'
import { measureAccepted, measureHonest } from './honest.ts'
import { forgedHosts } from './requests.ts'

/** The number of accepted posts that show the top rate and the cost of one post. */
const acceptedCount = 3_000
/** The share of the gateway's own top rate at which honest people write. */
const honestShare = 0.1
/** The largest number of rounds. More would not improve a median of ratios. */
const maxRounds = 3
/** The time by which the flood begins before the honest traffic and ends after it, ms. */
const leadMs = 300

interface Stage extends HonestTraffic {
  readonly flooder: ServerProcess
  /** The number of honest deliveries per second. */
  readonly perSecond: number
  readonly seconds: number
}

/** Measures p99 of honest deliveries alone and during floods, and the CPU time of refused posts compared with accepted ones. */
export async function probeFlood({
  rounds: roundCount,
  seconds,
  warmUp,
  cores,
  progress,
}: ProbeOptions): Promise<readonly Figure[]> {
  using traffic = await openTraffic({ agent: 'silent', senders: 8 })
  await using flooder = await startServer({
    entry: new URL('./flooder.ts', import.meta.url),
    setup: {},
    core: cores?.load,
  })
  const forgedPorts = Object.fromEntries(forgedHosts.map(host => [host, flooder.port]))
  const contender = describeBenchGateway({ network: { loopback: { ...traffic.fediverse.loopback, ...forgedPorts } } })
  await using gateway = await startServer({ ...contender, core: cores?.server })
  progress(`flood: warming up with ${warmUp} messages`)
  const load = { connections: 24, isExpected: isAccepted202, prepare: (count: number) => traffic.prepare(count) }
  await warmUpServers([{ server: gateway }], load, warmUp)
  const top = await measureAccepted({ traffic, gateway }, acceptedCount)
  const stage = { traffic, gateway, flooder, perSecond: Math.round(top.perSecond * honestShare), seconds }
  const rounds: FloodRound[] = []
  const count = Math.min(roundCount, maxRounds)
  for (let round = 1; round <= count; round++) {
    progress(`flood: round ${round} of ${count}`)
    rounds.push(await measureFloodRound(stage))
  }
  return toFloodFigures(rounds, stage.perSecond)
}

async function measureFloodRound(stage: Stage): Promise<FloodRound> {
  const alone = await measureHonest(stage, stage)
  const { cpuMicros: acceptedMicros } = await measureAccepted(stage, acceptedCount)
  const comparedFloods: FloodedRound[] = []
  for (const flood of floods) {
    comparedFloods.push({ ...(await measureBeside(flood, stage)), refusedMicros: await measureRefused(flood, stage) })
  }
  return { alone, acceptedMicros, withFloods: comparedFloods }
}

async function measureBeside({ kind, times }: FloodPlan, stage: Stage): Promise<Omit<FloodedRound, 'refusedMicros'>> {
  const { flooder, gateway, seconds } = stage
  const perSecond = times * stage.perSecond
  const count = Math.ceil(perSecond * (seconds + (2 * leadMs) / 1000))
  await orderFlood(flooder, { step: 'prepare', kind, count })
  const flooding = orderFlood(flooder, { step: 'send', port: gateway.port, perSecond })
  await new Promise(resolve => setTimeout(resolve, leadMs))
  const honest = await measureHonest(stage, stage)
  return { honest, ...((await flooding) as FloodResult) }
}

/** Measures the flood alone, for a second and until the gateway is at rest. */
async function measureRefused({ kind, times }: FloodPlan, { flooder, gateway, perSecond }: Stage): Promise<number> {
  const count = times * perSecond
  await orderFlood(flooder, { step: 'prepare', kind, count })
  const sampleBefore = await gateway.sample()
  await orderFlood(flooder, { step: 'send', port: gateway.port, perSecond: count })
  const { cpu } = await settleServer(gateway, sampleBefore.handled)
  return (cpu - sampleBefore.cpu) / count
}

function orderFlood(flooder: ServerProcess, order: FloodOrder): Promise<unknown> {
  return flooder.work(order)
}
