// Measures one, two and four gateways on a distant PostgreSQL server.
import { password } from '@postern/testing/postgres-cluster'
import { openAgentIssuer } from '../a2a/issuer.ts'
import { createCallMaker } from '../a2a/make-calls.ts'
import { measureInterleaved } from '../harness/interleave.ts'
import type { Figure, ProbeOptions } from '../harness/tables/figure.ts'
import { findAgentModule } from '../ours/open.ts'
import { openDelayedProxy } from './delayed-proxy.ts'
import type { PostgresContender } from './gateways.ts'
import { measureRate, startCluster, startGateways, toPostgresFigures, warmUpGateways } from './gateways.ts'

/** The number of concurrent calls to each gateway, so that the load grows with the number of gateways. */
const atOnce = 64
/** The concurrency limit, more than all calls together, so that only the connection to the server limits them. */
const concurrency = 1_000
/** The largest number of calls that warm a gateway up, because they wait for the server like all others. */
const maxWarmUp = 10_000
const numbers = ['one', 'two', '', 'four'] as const
/** The delays in each direction, ms. With the second one, two cores can still carry several gateways. */
const delays = [2, 10] as const

/** Measures like `probePostgres`, but with a distant server: several gateways can wait for it concurrently, if it allows that. */
export async function probeFarPostgres(options: ProbeOptions): Promise<readonly Figure[]> {
  const figures: Figure[] = []
  for (const delayMs of delays) figures.push(...(await probeAt(delayMs, options)))
  return figures
}

async function probeAt(delayMs: number, { rounds, warmUp, quick, progress }: ProbeOptions): Promise<readonly Figure[]> {
  await using resources = new AsyncDisposableStack()
  const cluster = await startCluster(resources)
  const proxy = await openDelayedProxy({ targetPort: cluster.port, delayMs })
  resources.defer(proxy.close)
  const contenders: PostgresContender[] = []
  for (const gateways of [1, 2, 4]) contenders.push(await openContender(gateways, proxy.port, resources))
  const makeCalls = createCallMaker(resources.use(await openAgentIssuer()), 'SendMessage')
  progress(`postgres-far: warming up, ${delayMs} ms away`)
  const warming = { count: Math.min(warmUp, maxWarmUp), connections: atOnce }
  for (const { servers } of contenders) await warmUpGateways(servers, makeCalls, warming)
  const count = quick ? 500 : 2_000
  const turns = { title: `postgres-far: ${delayMs} ms away`, rounds, progress }
  const rates = await measureInterleaved(contenders, turns, async ({ servers }) =>
    measureRate(servers, await makeCalls(count * servers.length), atOnce),
  )
  const title = `PostgreSQL, ${delayMs} to ${delayMs + 1} ms away`
  return toPostgresFigures(contenders, rates, { title, what: 'A2A calls, answered by an agent, durable' })
}

const agents = { brief: { use: findAgentModule('brief'), concurrency }, silent: { use: findAgentModule('silent') } }

async function openContender(
  gateways: number,
  port: number,
  resources: AsyncDisposableStack,
): Promise<PostgresContender> {
  const store = `postgres://postern:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres?schema=far${gateways}`
  return {
    name: `${numbers[gateways - 1]} gateway${gateways > 1 ? 's' : ''}`,
    note: `${atOnce} at once of each gateway`,
    gatewayCount: gateways,
    servers: await startGateways(gateways, { store, agents }, resources),
    ...(gateways > 1 && { referenceName: 'one gateway' }),
  }
}
