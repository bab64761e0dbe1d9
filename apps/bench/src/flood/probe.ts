import type { Traffic } from '../activitypub/traffic.ts'
import { isTaken, openTraffic } from '../activitypub/traffic.ts'
import type { Figure, ProbeOptions } from '../harness/figure.ts'
import { median, quantile } from '../harness/measure.ts'
import { paceServer, saturateServer } from '../http/load.ts'
import { describeBenchGateway } from '../ours/open.ts'
import type { ServerProcess } from '../servers/process.ts'
import { startServer } from '../servers/process.ts'
import type { Flooded, FloodOrder } from './flooder.ts'
import type { FloodKind } from './requests.ts'
import { forgedHosts } from './requests.ts'

const title = 'Flood'
const connections = 24
const warmUpCount = 3_000
/** Share of the gateway's own top rate at which honest people write. */
const honestShare = 0.1
/** More would not make a median of ratios any better. */
const maxRounds = 3
/** The flood begins before the honest traffic and outlasts it. */
const leadMs = 300

interface FloodPlan {
  readonly kind: FloodKind
  readonly name: string
  /** How many for each honest request. */
  readonly times: number
  readonly aim: { readonly atMost: number }
}

const floods: readonly FloodPlan[] = [
  { kind: 'unsigned', name: 'beside an unsigned flood', times: 5, aim: { atMost: 1.5 } },
  { kind: 'forged', name: 'beside forged signatures', times: 10, aim: { atMost: 3 } },
]

interface Stage {
  readonly traffic: Traffic
  readonly gateway: ServerProcess
  readonly flooder: ServerProcess
  /** Requests a second. */
  readonly honest: number
  readonly seconds: number
}

/** p99 of honest deliveries while somebody else pours rubbish into the same inbox. */
export async function probeFlood({ rounds, seconds, cores, progress }: ProbeOptions): Promise<readonly Figure[]> {
  using traffic = await openTraffic({ agent: 'silent', senders: 8 })
  await using flooder = await startServer({
    entry: new URL('./flooder.ts', import.meta.url),
    setup: {},
    core: cores?.load,
  })
  const forged = Object.fromEntries(forgedHosts.map(host => [host, flooder.port]))
  const ours = describeBenchGateway({ network: { loopback: { ...traffic.fediverse.loopback, ...forged } } })
  await using gateway = await startServer({ ...ours, core: cores?.server })
  progress('flood: warming up')
  await findTopRate(gateway, traffic)
  const honest = Math.round((await findTopRate(gateway, traffic)) * honestShare)
  const stage = { traffic, gateway, flooder, honest, seconds }
  const taking: RoundTaken[] = []
  for (let round = 1; round <= Math.min(rounds, maxRounds); round++) {
    progress(`flood: round ${round} of ${Math.min(rounds, maxRounds)}`)
    taking.push(await takeRound(stage))
  }
  return toFigures(taking, honest)
}

/** Deliveries a second, as many as it takes. */
async function findTopRate(gateway: ServerProcess, traffic: Traffic): Promise<number> {
  const { accepted, seconds } = await saturateServer(loadOf(gateway, await traffic.prepare(warmUpCount)))
  return accepted / seconds
}

interface RoundTaken {
  /** p99, ms. */
  readonly alone: number
  /** In the order of `floods`. */
  readonly beside: readonly BesideFlood[]
}

interface BesideFlood extends Flooded {
  /** Of honest deliveries, ms. */
  readonly p99: number
  /** CPU time of one post of the flood, µs. */
  readonly cost: number
}

async function takeRound(stage: Stage): Promise<RoundTaken> {
  const alone = await measureHonest(stage)
  const beside: BesideFlood[] = []
  for (const flood of floods) {
    beside.push({ ...(await measureBeside(flood, stage)), cost: await measureCost(flood, stage) })
  }
  return { alone, beside }
}

/** The flood alone, for a second. */
async function measureCost({ kind, times }: FloodPlan, { flooder, gateway, honest }: Stage): Promise<number> {
  const count = times * honest
  await flooder.work({ step: 'ready', kind, count } satisfies FloodOrder)
  const { cpu } = await gateway.sample()
  await flooder.work({ step: 'go', port: gateway.port, perSecond: count } satisfies FloodOrder)
  return ((await gateway.sample()).cpu - cpu) / count
}

async function measureBeside(flood: FloodPlan, stage: Stage): Promise<Omit<BesideFlood, 'cost'>> {
  const { flooder, gateway, seconds, honest } = stage
  const perSecond = flood.times * honest
  const count = Math.ceil(perSecond * (seconds + (2 * leadMs) / 1000))
  const order = (step: FloodOrder) => flooder.work(step)
  await order({ step: 'ready', kind: flood.kind, count })
  const flooding = order({ step: 'go', port: gateway.port, perSecond })
  await new Promise(resolve => setTimeout(resolve, leadMs))
  const p99 = await measureHonest(stage)
  return { p99, ...((await flooding) as Flooded) }
}

async function measureHonest({ traffic, gateway, honest, seconds }: Stage): Promise<number> {
  const requests = await traffic.prepare(Math.ceil(honest * seconds))
  const { latencies } = await paceServer(loadOf(gateway, requests), honest)
  return quantile(latencies, 0.99)
}

function loadOf({ port }: ServerProcess, requests: readonly Uint8Array[]) {
  return { port, connections, requests, isAccepted: isTaken }
}

function toFigures(rounds: readonly RoundTaken[], honest: number): readonly Figure[] {
  const alone: Figure = {
    case: title,
    name: 'p99 of honest deliveries alone',
    note: `verified, durable, through an agent; ${honest} a second, a tenth of the top rate`,
    value: median(rounds.map(round => round.alone)),
    unit: 'ms',
  }
  return [
    alone,
    ...floods.flatMap((flood, index) => {
      const taken = rounds.flatMap(({ alone, beside }) => {
        const found = beside[index]
        return found ? [{ ...found, alone }] : []
      })
      return [toFigure(flood, taken, honest), toCost(flood, taken)]
    }),
  ]
}

type TakenBeside = BesideFlood & Pick<RoundTaken, 'alone'>

function toCost({ kind }: FloodPlan, taken: readonly TakenBeside[]): Figure {
  return {
    case: title,
    name: `a refused post, ${kind}`,
    note: 'CPU time of the gateway for each post of the flood; no honest traffic beside it',
    value: median(taken.map(({ cost }) => cost)),
    unit: 'µs',
  }
}

function toFigure(flood: FloodPlan, taken: readonly TakenBeside[], honest: number): Figure {
  const rate = median(taken.map(({ perSecond }) => perSecond))
  const statuses = [...new Set(taken.flatMap(each => Object.keys(each.statuses)))].join(', ')
  return {
    case: title,
    name: flood.name,
    note: `${Math.round(rate)} a second (${(rate / honest).toFixed(1)} times the honest traffic) from another process, no limit in its way; answered with ${statuses}`,
    value: median(taken.map(({ p99 }) => p99)),
    unit: 'ms',
    beside: median(taken.map(({ alone }) => alone)),
    ratio: median(taken.map(({ p99, alone }) => p99 / alone)),
    against: '÷ alone',
    aim: flood.aim,
  }
}
