// Starts a PostgreSQL server with several gateways and measures their common rate.
import { createCluster, findPostgres } from '@postern/testing/postgres-cluster'
import { isCompleted } from '../a2a/is-completed.ts'
import type { Aim } from '../aims/rows.ts'
import type { BenchCase } from '../harness/rounds.ts'
import { median, medianRatio } from '../harness/statistics.ts'
import type { Figure } from '../harness/tables/figure.ts'
import { splitWarmUp } from '../harness/warm-up.ts'
import { saturateServer } from '../http/load.ts'
import { describeBenchGateway } from '../ours/open.ts'
import { freeThisThread, pinThisThread } from '../servers/cores.ts'
import type { ServerProcess } from '../servers/process.ts'
import { startServer } from '../servers/process.ts'

const limits = { open_tasks_per_caller: 1_000_000, tasks_per_caller: 1_000_000_000 }

/** A number of gateways on one store, and the plan that they are compared with. `aim` bounds the ratio of the two rates. */
export interface PostgresPlan extends Partial<Aim> {
  readonly name: string
  readonly note: string
  readonly gatewayCount: number
  /** The schema of their database; absent for SQLite. */
  readonly schema?: string
  /** The name of the plan that it is compared with. */
  readonly referenceName?: string
}

export interface PostgresContender extends PostgresPlan {
  readonly servers: readonly ServerProcess[]
}

/**
 * Starts a PostgreSQL server, which `ends` removes. The load has the whole machine.
 * @param core the core that the server is kept to; default: it has the whole machine, too
 */
export async function startCluster(resources: AsyncDisposableStack, core?: number): ReturnType<typeof createCluster> {
  const programs = findPostgres()
  if (!programs) throw new Error('no PostgreSQL server is installed here')
  const cluster = await createCluster({ programs, settings: ['max_connections=200'] })
  resources.defer(cluster.remove)
  // Child processes inherit the core of this thread.
  if (core !== undefined) pinThisThread(core)
  await cluster.start()
  freeThisThread()
  return cluster
}

/**
 * Starts gateways one after the other, because the first makes the tables. `extraConfig` is laid over their configuration; `ends` stops them.
 * @param core the core that all of them are kept to; default: they have the whole machine
 */
export async function startGateways(
  gateways: number,
  extraConfig: object,
  resources: AsyncDisposableStack,
  core?: number,
): Promise<readonly ServerProcess[]> {
  const contender = describeBenchGateway({ a2a: { auth: { anonymous: true }, limits }, ...extraConfig })
  const servers: ServerProcess[] = []
  while (servers.length < gateways) servers.push(resources.use(await startServer({ ...contender, core })))
  return servers
}

/** Sends `count` calls to each gateway, all gateways of a store at once, so that they are compiled before they are measured. */
export async function warmUpGateways(
  servers: readonly ServerProcess[],
  makeCalls: BenchCase['prepare'],
  { count, connections }: { readonly count: number; readonly connections: number },
): Promise<void> {
  for (const portion of splitWarmUp(count * servers.length)) {
    await measureRate(servers, await makeCalls(portion), connections)
  }
}

/**
 * The largest share of turns that may run twice. If two gateways begin more turns of an agent than it may have, the store undoes one transaction, and
 * its turns run again.
 */
const maxRepeatedShare = 0.02

/**
 * Measures the common rate.
 * @param connections concurrent calls to each gateway
 * @returns calls per second, from the first one sent to the last one answered.
 * @throws Error if a turn is missing, or if many turns ran twice
 */
export async function measureRate(
  servers: readonly ServerProcess[],
  calls: readonly Uint8Array[],
  connections: number,
): Promise<number> {
  const countTurns = async () =>
    (await Promise.all(servers.map(server => server.sample()))).reduce((sum, { handled }) => sum + handled, 0)
  const turnsBefore = await countTurns()
  const startedAt = performance.now()
  const saturate = ({ port }: ServerProcess, serverIndex: number) => {
    const requests = calls.filter((_, index) => index % servers.length === serverIndex)
    return saturateServer({ port, connections, requests, isExpected: isCompleted }, 600)
  }
  await Promise.all(servers.map(saturate))
  const seconds = (performance.now() - startedAt) / 1_000
  const turns = (await countTurns()) - turnsBefore
  if (turns < calls.length || turns > calls.length * (1 + maxRepeatedShare)) {
    throw new Error(`${calls.length} calls were answered, and agents had ${turns} turns`)
  }
  return calls.length / seconds
}

/** Computes the figures of all plans. @param rates calls per second of each plan, one figure per round */
export function toPostgresFigures(
  plans: readonly PostgresPlan[],
  rates: readonly (readonly number[])[],
  { title, what: workload }: { readonly title: string; readonly what: string },
): readonly Figure[] {
  return plans.map(({ name, note, referenceName, aim }, index) => {
    const planRates = rates[index] ?? []
    const baselineRates = rates[plans.findIndex(plan => plan.name === referenceName)]
    return {
      case: title,
      name,
      note: `${workload}; ${note}`,
      value: median(planRates),
      unit: 'calls/s',
      ...(baselineRates && {
        referenceValue: median(baselineRates),
        ratio: medianRatio(planRates, baselineRates, rate => rate),
        ratioLabel: `÷ ${referenceName}`,
      }),
      ...(aim && { aim }),
    }
  })
}
