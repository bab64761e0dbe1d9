// Measures the cost of one message as the number of stored messages grows.
import { mkdtempDisposableSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Traffic } from '../activitypub/traffic.ts'
import { isAccepted202, openTraffic } from '../activitypub/traffic.ts'
import { rows } from '../aims/rows.ts'
import { measureInterleaved } from '../harness/interleave.ts'
import { settleServer } from '../harness/measure.ts'
import { median, medianRatio } from '../harness/statistics.ts'
import type { Figure, ProbeOptions } from '../harness/tables/figure.ts'
import { saturateServer } from '../http/load.ts'
import { describeBenchGateway } from '../ours/open.ts'
import type { ServerProcess } from '../servers/process.ts'
import { startServer } from '../servers/process.ts'
import type { Cost } from './stock.ts'
import { answeringAgent } from './stock.ts'
import type { StockOrder } from './stocker.ts'

const title = 'Growth'
const marks = {
  quick: [1_000, 10_000],
  usual: [1_000, 10_000, 100_000],
  full: [1_000, 10_000, 100_000, 1_000_000],
} as const
const maxRounds = 5
/** The numbers of messages that warm each gateway up, and of each round. Larger numbers would fill the small store. */
const counts = { warmUp: 600, line: 300, admit: 500 } as const

interface Stocks {
  readonly marks: readonly number[]
  readonly bytes: readonly number[]
  readonly directories: readonly string[]
}

/** Costs by mark, then by round. */
type Costs = readonly (readonly Cost[])[]

/** Measures the cost of one message among few and among many stored ones. */
export async function probeGrowth(options: ProbeOptions): Promise<readonly Figure[]> {
  using base = mkdtempDisposableSync(join(tmpdir(), 'postern-bench-'))
  const rounds = Math.min(options.rounds, maxRounds)
  const { stocks, admission } = await stock(base.path, rounds, options)
  const lineCosts = await measureLines(stocks, rounds, options)
  return [...toFigures('admit', admission, stocks), ...toFigures('line', lineCosts, stocks)]
}

async function stock(base: string, rounds: number, { quick, full, cores, progress }: ProbeOptions) {
  const sizes = marks[full ? 'full' : quick ? 'quick' : 'usual']
  const entry = new URL('./stocker.ts', import.meta.url)
  await using stocker = await startServer({ entry, setup: {}, core: cores?.server })
  const runOrder = (measuredSizes: StockOrder) => stocker.work(measuredSizes)
  progress(`growth: storing ${sizes.at(-1)} messages`)
  const bytes = (await runOrder({ step: 'fill', base, marks: sizes })) as Stocks['bytes']
  const directories = sizes.map(mark => join(base, String(mark)))
  progress('growth: admitting')
  const admission = (await runOrder({ step: 'admit', directories, rounds, count: counts.admit })) as Costs
  return { stocks: { marks: sizes, bytes, directories }, admission }
}

/** Measures real, signed posts to a gateway on each of the stores in turn. */
async function measureLines(
  { directories }: Stocks,
  rounds: number,
  { cores, progress }: ProbeOptions,
): Promise<Costs> {
  using traffic = await openTraffic({ agent: answeringAgent, senders: 32 })
  const config = { network: { loopback: traffic.fediverse.loopback } }
  await using servers = new AsyncDisposableStack()
  const gateways: ServerProcess[] = []
  for (const data of directories) {
    const contender = describeBenchGateway(config, { data, counts: 'deliveries' })
    gateways.push(servers.use(await startServer({ ...contender, core: cores?.server })))
  }
  return await measureInterleaved(gateways, { title: 'growth', rounds, progress }, (gateway, round) =>
    measureLine(gateway, traffic, round === 0 ? counts.warmUp : counts.line),
  )
}

/** Measures posts from their arrival, through the agent, to the delivery of the answers to their authors. */
async function measureLine(gateway: ServerProcess, traffic: Traffic, count: number): Promise<Cost> {
  const requests = await traffic.prepare(count)
  const sampleBefore = await gateway.sample()
  const startedAt = performance.now()
  await saturateServer({ port: gateway.port, connections: 24, requests, isExpected: isAccepted202 })
  const { cpu, doneAt } = await settleServer(gateway, sampleBefore.handled + count)
  return { cpuMicros: (cpu - sampleBefore.cpu) / count, wallMicros: ((doneAt - startedAt) * 1000) / count }
}

const descriptions = {
  admit: {
    name: 'admission',
    note: 'one message by the store’s own port, 250 at a time',
    aim: rows.admission.aim,
  },
  line: {
    name: 'whole path',
    aim: { atMost: 1.2 },
    note: 'one signed post: verified, stored, answered by an agent, the answer signed and delivered',
  },
} as const

function toFigures(kind: keyof typeof descriptions, costs: Costs, { marks: sizes, bytes }: Stocks): readonly Figure[] {
  const { name, note, aim } = descriptions[kind]
  return sizes.map((mark, index) => {
    const kindCosts = costs[index] ?? []
    const first = costs[0] ?? []
    const wall = median(kindCosts.map(({ wallMicros }) => wallMicros))
    const ratioNote =
      index === 0 ? '' : ` (${medianRatio(kindCosts, first, cost => cost.wallMicros).toFixed(2)} of the first)`
    return {
      case: title,
      name: `${name}, ${mark} stored`,
      note: `${note}; ${wall.toFixed(0)} µs of wall time${ratioNote}; the store has ${((bytes[index] ?? 0) / 1e6).toFixed(0)} MB`,
      value: median(kindCosts.map(({ cpuMicros }) => cpuMicros)),
      unit: 'CPU µs/msg',
      ...(index > 0 && {
        referenceValue: median(first.map(({ cpuMicros }) => cpuMicros)),
        ratio: medianRatio(kindCosts, first, cost => cost.cpuMicros),
        ratioLabel: `÷ at ${sizes[0]}`,
        aim,
      }),
      ...(kind === 'admit' && mark === marks.full.at(-1) && { row: rows.admission.row }),
    }
  })
}
