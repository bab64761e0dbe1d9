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
const atOnce = 64

const plans: readonly PostgresPlan[] = [
  { name: 'SQLite', note: 'one gateway, its store in a file', gateways: 1 },
  {
    name: 'one gateway',
    note: 'at a PostgreSQL server on this machine, by its socket',
    gateways: 1,
    schema: 'one',
    referenceName: 'SQLite',
    aim: { atLeast: 0.6 },
  },
  {
    name: 'two gateways',
    note: 'at one database',
    gateways: 2,
    schema: 'two',
    referenceName: 'one gateway',
  },
  {
    name: 'four gateways',
    note: 'at one database',
    gateways: 4,
    schema: 'four',
    referenceName: 'one gateway',
  },
]

/**
 * Measures A2A calls per second through whole gateways, each answered in the call and durable, in turns: SQLite, and PostgreSQL with an increasing
 * number of gateways.
 */
export async function probePostgres({ rounds, warmUp, quick, progress }: ProbeOptions): Promise<readonly Figure[]> {
  process.env.PGPASSWORD = password
  await using resources = new AsyncDisposableStack()
  const cluster = await startCluster(resources)
  const makeCalls = createCallMaker(resources.use(await openAgentIssuer()), 'SendMessage')
  const contenders: PostgresContender[] = []
  const urlOf = (schema: string) =>
    `postgres:///postgres?host=${cluster.directory}&port=${cluster.port}&user=postern&schema=${schema}`
  for (const plan of plans) {
    const store = plan.schema && { store: urlOf(plan.schema) }
    const servers = await startGateways(plan.gateways, { ...store }, resources)
    progress(`postgres: warming up ${plan.name}`)
    await warmUpGateways(servers, makeCalls, { count: warmUp, connections: atOnce / servers.length })
    contenders.push({ ...plan, servers })
  }
  const count = quick ? 500 : 2_000
  const rates = await measureInterleaved(contenders, { title: 'postgres', rounds, progress }, async ({ servers }) =>
    measureRate(servers, await makeCalls(count), atOnce / servers.length),
  )
  const description = `A2A calls, ${atOnce} at once, answered by an agent, durable`
  return toPostgresFigures(plans, rates, { title, what: description })
}
