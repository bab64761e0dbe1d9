// Measures SQLite, and one, two and four gateways on one PostgreSQL database.
import { password } from '@postern/testing/postgres-cluster'
import { openAgentIssuer } from '../a2a/issuer.ts'
import { createCallMaker } from '../a2a/make-calls.ts'
import { measureInterleaved } from '../harness/interleave.ts'
import type { Figure, ProbeOptions } from '../harness/tables/figure.ts'
import type { PostgresContender, PostgresPlan } from './gateways.ts'
import { measureRate, startCluster, startGateways, toPostgresFigures, warmUpGateways } from './gateways.ts'

const title = 'PostgreSQL'
/** The number of concurrent calls, spread over the gateways. */
const concurrentCalls = 64

const plans: readonly PostgresPlan[] = [
  { name: 'SQLite', note: 'one gateway, its store in a file', gatewayCount: 1 },
  {
    name: 'one gateway',
    note: 'at a PostgreSQL server on this machine, by its socket',
    gatewayCount: 1,
    schema: 'one',
    referenceName: 'SQLite',
    aim: { atLeast: 0.6 },
  },
  {
    name: 'two gateways',
    note: 'at one database',
    gatewayCount: 2,
    schema: 'two',
    referenceName: 'one gateway',
  },
  {
    name: 'four gateways',
    note: 'at one database',
    gatewayCount: 4,
    schema: 'four',
    referenceName: 'one gateway',
  },
]

/**
 * Measures the rate of durable A2A calls through whole gateways. The rounds alternate between SQLite and PostgreSQL with one, two and four
 * gateways.
 */
export async function probePostgres({ rounds, warmUp, quick, progress }: ProbeOptions): Promise<readonly Figure[]> {
  process.env.PGPASSWORD = password
  await using resources = new AsyncDisposableStack()
  const cluster = await startCluster(resources)
  const makeCalls = createCallMaker(resources.use(await openAgentIssuer()), 'SendMessage')
  const contenders: PostgresContender[] = []
  const createSchemaUrl = (schema: string) =>
    `postgres:///postgres?host=${cluster.directory}&port=${cluster.port}&user=postern&schema=${schema}`
  for (const plan of plans) {
    const storeSetting = plan.schema && { store: createSchemaUrl(plan.schema) }
    const servers = await startGateways(plan.gatewayCount, { ...storeSetting }, resources)
    progress(`postgres: warming up ${plan.name}`)
    await warmUpGateways(servers, makeCalls, { count: warmUp, connections: concurrentCalls / servers.length })
    contenders.push({ ...plan, servers })
  }
  const count = quick ? 500 : 2_000
  const rates = await measureInterleaved(contenders, { title: 'postgres', rounds, progress }, async ({ servers }) =>
    measureRate(servers, await makeCalls(count), concurrentCalls / servers.length),
  )
  const description = `A2A calls, ${concurrentCalls} at once, answered by an agent, durable`
  return toPostgresFigures(plans, rates, { title, what: description })
}
