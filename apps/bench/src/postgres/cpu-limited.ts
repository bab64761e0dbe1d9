// Measures gateways that are held to 20 % of a core each, at one PostgreSQL database with a core of its own.
import { password } from '@postern/testing/postgres-cluster'
import { openAgentIssuer } from '../a2a/issuer.ts'
import { createCallMaker } from '../a2a/make-calls.ts'
import { rows } from '../aims/rows.ts'
import { measureInterleaved } from '../harness/interleave.ts'
import type { Figure, ProbeOptions } from '../harness/tables/figure.ts'
import { openCpuShare } from '../servers/cpu-share.ts'
import type { LimitedRound } from './cpu-limited-figures.ts'
import { toLimitedFigures } from './cpu-limited-figures.ts'
import type { PostgresContender, PostgresPlan } from './gateways.ts'
import { measureRate, startCluster, startGateways, warmUpGateways } from './gateways.ts'
import { readServerCpu, sumCpu } from './server-cpu.ts'

/** The share of a core that each gateway has. Four of them then share the database, not the cores. */
const share = 0.2
/** The number of concurrent calls to each gateway. */
const connections = 32
/** The calls to each gateway for each second of a round, which is about its capacity. */
const callsPerSecond = 300

export const limitedPlans: readonly PostgresPlan[] = [
  { name: 'one gateway', note: '', gatewayCount: 1, schema: 'held1' },
  {
    name: 'two gateways',
    note: '',
    gatewayCount: 2,
    schema: 'held2',
    referenceName: 'one gateway',
    ...rows.twoLimitedGateways,
  },
  {
    name: 'four gateways',
    note: '',
    gatewayCount: 4,
    schema: 'held4',
    referenceName: 'one gateway',
    ...rows.fourLimitedGateways,
  },
]

/**
 * Measures A2A calls a second of gateways with their default configuration: each has a fifth of a core, and the database has another core
 * to itself. More gateways must carry more, as they would on machines of their own.
 */
export async function probeHeldGateways(options: ProbeOptions): Promise<readonly Figure[]> {
  const { rounds, seconds, warmUp, cores, progress } = options
  process.env.PGPASSWORD = password
  await using resources = new AsyncDisposableStack()
  const cluster = await startCluster(resources, cores?.server)
  const makeCalls = createCallMaker(resources.use(await openAgentIssuer()), 'SendMessage')
  const contenders: PostgresContender[] = []
  for (const plan of limitedPlans) {
    // The groups outlive the gateways in them.
    const shares = Array.from({ length: plan.gatewayCount }, () => resources.use(openCpuShare(share)))
    const store = `postgres:///postgres?host=${cluster.directory}&port=${cluster.port}&user=postern&schema=${plan.schema}`
    const servers = await startGateways(plan.gatewayCount, { store }, resources, cores?.load)
    progress(`postgres-held: warming up ${plan.name}`)
    await warmUpGateways(servers, makeCalls, { count: warmUp, connections })
    for (const [index, { pid }] of servers.entries()) shares[index]?.hold(pid)
    contenders.push({ ...plan, servers })
  }
  const count = Math.ceil(callsPerSecond * seconds)
  const measured = await measureInterleaved(
    contenders,
    { title: 'postgres-held', rounds, progress },
    async ({ servers }) => measureHeld(servers, await makeCalls(count * servers.length), cluster.directory),
  )
  return toLimitedFigures(limitedPlans, measured)
}

async function measureHeld(
  servers: PostgresContender['servers'],
  calls: readonly Uint8Array[],
  directory: string,
): Promise<LimitedRound> {
  const readGateways = async () =>
    (await Promise.all(servers.map(server => server.sample()))).reduce((sum, { cpu }) => sum + cpu, 0)
  const [gateways, database] = [await readGateways(), readServerCpu(directory)]
  const perSecond = await measureRate(servers, calls, connections)
  const databaseMs = sumCpu(database, readServerCpu(directory))
  const seconds = calls.length / perSecond
  return {
    perSecond,
    databaseMicros: (databaseMs * 1_000) / calls.length,
    share: ((await readGateways()) - gateways) / 1e6 / seconds / servers.length,
  }
}
