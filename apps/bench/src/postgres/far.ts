import { password } from '@postern/testing/postgres-cluster'
import { createCallMaker, openAgentIssuer } from '../a2a/case.ts'
import type { Figure, ProbeOptions } from '../harness/figure.ts'
import { measureByTurns } from '../harness/turns.ts'
import { findAgentModule } from '../ours/open.ts'
import { openFarWire } from './far-wire.ts'
import type { PostgresContender } from './gateways.ts'
import { measureRate, startCluster, startGateways, toPostgresFigures } from './gateways.ts'

/** Calls under way at a time, of each gateway: with the gateways grows what is asked of them. */
const atOnce = 64
/** More than all of them have at once: what bounds them is the way to the server. */
const concurrency = 1_000
const numbers = ['one', 'two', '', 'four'] as const
/** Each way, ms. At the second, several gateways are not yet more than two cores can carry. */
const delays = [2, 10] as const

/** As `probePostgres`, with a server that is far: gateways share their waits for it, if it lets them. */
export async function probeFarPostgres(options: ProbeOptions): Promise<readonly Figure[]> {
  const figures: Figure[] = []
  for (const delayMs of delays) figures.push(...(await probeAt(delayMs, options)))
  return figures
}

async function probeAt(delayMs: number, { rounds, quick, progress }: ProbeOptions): Promise<readonly Figure[]> {
  await using ends = new AsyncDisposableStack()
  const cluster = await startCluster(ends)
  const wire = await openFarWire({ to: cluster.port, delayMs })
  ends.defer(wire.close)
  const contenders: PostgresContender[] = []
  for (const gateways of [1, 2, 4]) contenders.push(await openContender(gateways, wire.port, ends))
  const makeCalls = createCallMaker(ends.use(await openAgentIssuer()), 'SendMessage')
  const count = quick ? 500 : 2_000
  const turns = { title: `postgres-far: ${delayMs} ms away`, rounds, progress }
  const rates = await measureByTurns(contenders, turns, async ({ servers }) =>
    measureRate(servers, await makeCalls(count * servers.length), atOnce),
  )
  const title = `PostgreSQL, ${delayMs} to ${delayMs + 1} ms away`
  return toPostgresFigures(contenders, rates, { title, what: 'A2A calls, answered by an agent, durable' })
}

const agents = { brief: { use: findAgentModule('brief'), concurrency }, silent: { use: findAgentModule('silent') } }

async function openContender(gateways: number, port: number, ends: AsyncDisposableStack): Promise<PostgresContender> {
  const store = `postgres://postern:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres?schema=far${gateways}`
  return {
    name: `${numbers[gateways - 1]} gateway${gateways > 1 ? 's' : ''}`,
    note: `${atOnce} at once of each gateway`,
    gateways,
    servers: await startGateways(gateways, { store, agents }, ends),
    ...(gateways > 1 && { against: 'one gateway' }),
  }
}
