import type { Cluster } from '@postern/testing/postgres-cluster'
import { createCluster, findPostgres, password } from '@postern/testing/postgres-cluster'
import { createCallMaker, openAgentIssuer } from '../a2a/case.ts'
import type { Figure, ProbeOptions } from '../harness/figure.ts'
import { median } from '../harness/measure.ts'
import { saturateServer } from '../http/load.ts'
import { describeBenchGateway } from '../ours/open.ts'
import type { ServerProcess } from '../servers/process.ts'
import { freeThisThread, startServer } from '../servers/process.ts'

const title = 'PostgreSQL'
/** Calls under way at a time, spread over the gateways. */
const atOnce = 64
const limits = { open_tasks_per_caller: 1_000_000, tasks_per_caller: 1_000_000_000 }

interface Plan {
  readonly name: string
  readonly note: string
  readonly gateways: number
  /** Schema of their database; absent: SQLite. */
  readonly schema?: string
  /** By its name, the one it is measured against. */
  readonly against?: string
  readonly aim?: { readonly atLeast: number }
}

const plans: readonly Plan[] = [
  { name: 'SQLite', note: 'one gateway, its store in a file', gateways: 1 },
  {
    name: 'one gateway',
    note: 'at a PostgreSQL server on this machine, by its socket',
    gateways: 1,
    schema: 'one',
    against: 'SQLite',
    aim: { atLeast: 0.6 },
  },
  {
    name: 'two gateways',
    note: 'at one database',
    gateways: 2,
    schema: 'two',
    against: 'one gateway',
    aim: { atLeast: 1.5 },
  },
  {
    name: 'four gateways',
    note: 'at one database',
    gateways: 4,
    schema: 'four',
    against: 'one gateway',
    aim: { atLeast: 2.5 },
  },
]

interface Contender extends Plan {
  readonly servers: readonly ServerProcess[]
  /** Calls a second, one figure a round. */
  readonly rates: number[]
}

/** A2A calls a second through whole gateways, each answered in the call and durable, by turns: SQLite, and PostgreSQL with more and more gateways. */
export async function probePostgres({ rounds, quick, progress }: ProbeOptions): Promise<readonly Figure[]> {
  const programs = findPostgres()
  if (!programs) throw new Error('no PostgreSQL server is installed here')
  // The gateways, the server and the load have the whole machine among them.
  freeThisThread()
  process.env.PGPASSWORD = password
  const [cluster, issuer] = [
    await createCluster({ programs, settings: ['max_connections=200'] }),
    await openAgentIssuer(),
  ]
  const contenders: Contender[] = []
  try {
    await cluster.start()
    for (const plan of plans) contenders.push({ ...plan, servers: await startGateways(plan, cluster), rates: [] })
    const makeCalls = createCallMaker(issuer, 'SendMessage')
    const count = quick ? 500 : 2_000
    for (let round = 0; round <= rounds; round++) {
      progress(`postgres: ${round === 0 ? 'warming up' : `round ${round} of ${rounds}`}`)
      for (const { servers, rates } of contenders) {
        const rate = await measureRate(servers, await makeCalls(count))
        if (round > 0) rates.push(rate)
      }
    }
    return contenders.map(contender => toFigure(contender, contenders))
  } finally {
    await Promise.all(contenders.flatMap(({ servers }) => servers).map(server => server.stop()))
    issuer.close()
    await cluster.remove()
  }
}

/** One after the other: the first makes the tables. */
async function startGateways(
  { gateways, schema }: Plan,
  { port, directory }: Cluster,
): Promise<readonly ServerProcess[]> {
  const store = schema && `postgres:///postgres?host=${directory}&port=${port}&user=postern&schema=${schema}`
  const tree = { a2a: { auth: { anonymous: true }, limits }, ...(store && { store }) }
  const servers: ServerProcess[] = []
  while (servers.length < gateways) servers.push(await startServer({ ...describeBenchGateway(tree), core: undefined }))
  return servers
}

/** @returns calls a second, from the first sent to the last answered. @throws Error when a turn is missing or one too many */
async function measureRate(servers: readonly ServerProcess[], calls: readonly Uint8Array[]): Promise<number> {
  const countTurns = async () =>
    (await Promise.all(servers.map(server => server.sample()))).reduce((sum, { handled }) => sum + handled, 0)
  const before = await countTurns()
  const begun = performance.now()
  await Promise.all(servers.map(({ port }, at) => saturateServer(shareOf(port, at, servers.length, calls), 600)))
  const seconds = (performance.now() - begun) / 1_000
  const turns = (await countTurns()) - before
  if (turns !== calls.length) throw new Error(`${calls.length} calls were answered, and agents had ${turns} turns`)
  return calls.length / seconds
}

function shareOf(port: number, at: number, of: number, calls: readonly Uint8Array[]) {
  const isAccepted = ({ status, body }: { readonly status: number; readonly body: Buffer }) =>
    status === 200 && body.includes('TASK_STATE_COMPLETED')
  const requests = calls.filter((_, index) => index % of === at)
  return { port, connections: atOnce / of, requests, isAccepted }
}

function toFigure({ name, note, rates, against, aim }: Contender, contenders: readonly Contender[]): Figure {
  const other = contenders.find(each => each.name === against)
  return {
    case: title,
    name,
    note: `A2A calls, ${atOnce} at once, answered by an agent, durable; ${note}`,
    value: median(rates),
    unit: 'calls/s',
    ...(other && {
      beside: median(other.rates),
      ratio: median(rates.map((rate, round) => rate / (other.rates[round] ?? Number.NaN))),
      against: `÷ ${other.name}`,
      aim,
    }),
  }
}
