import { password } from '@postern/testing/postgres-cluster'
import { createCallMaker, openAgentIssuer } from '../a2a/case.ts'
import type { Figure, ProbeOptions } from '../harness/figure.ts'
import { measureByTurns } from '../harness/turns.ts'
import type { PostgresContender, PostgresPlan } from './gateways.ts'
import { measureRate, startCluster, startGateways, toPostgresFigures } from './gateways.ts'

const title = 'PostgreSQL'
/** Calls under way at a time, spread over the gateways. */
const atOnce = 64

const plans: readonly PostgresPlan[] = [
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

/** A2A calls a second through whole gateways, each answered in the call and durable, by turns: SQLite, and PostgreSQL with more and more gateways. */
export async function probePostgres({ rounds, quick, progress }: ProbeOptions): Promise<readonly Figure[]> {
  process.env.PGPASSWORD = password
  await using ends = new AsyncDisposableStack()
  const cluster = await startCluster(ends)
  const makeCalls = createCallMaker(ends.use(await openAgentIssuer()), 'SendMessage')
  const contenders: PostgresContender[] = []
  const urlOf = (schema: string) =>
    `postgres:///postgres?host=${cluster.directory}&port=${cluster.port}&user=postern&schema=${schema}`
  for (const plan of plans) {
    const store = plan.schema && { store: urlOf(plan.schema) }
    contenders.push({ ...plan, servers: await startGateways(plan.gateways, { ...store }, ends) })
  }
  const count = quick ? 500 : 2_000
  const rates = await measureByTurns(contenders, { title: 'postgres', rounds, progress }, async ({ servers }) =>
    measureRate(servers, await makeCalls(count), atOnce / servers.length),
  )
  const what = `A2A calls, ${atOnce} at once, answered by an agent, durable`
  return toPostgresFigures(plans, rates, { title, what })
}
