import { createCluster, findPostgres } from '@postern/testing/postgres-cluster'
import { isCompleted } from '../a2a/case.ts'
import type { Figure } from '../harness/figure.ts'
import { median, medianRatio } from '../harness/measure.ts'
import { saturateServer } from '../http/load.ts'
import { describeBenchGateway } from '../ours/open.ts'
import type { ServerProcess } from '../servers/process.ts'
import { freeThisThread, startServer } from '../servers/process.ts'

const limits = { open_tasks_per_caller: 1_000_000, tasks_per_caller: 1_000_000_000 }

/** Gateways at one store, and what they are measured against. */
export interface PostgresPlan {
  readonly name: string
  readonly note: string
  readonly gateways: number
  /** Schema of their database; absent: SQLite. */
  readonly schema?: string
  /** By its name, the one it is measured against. */
  readonly against?: string
  readonly aim?: { readonly atLeast: number }
}

export interface PostgresContender extends PostgresPlan {
  readonly servers: readonly ServerProcess[]
}

/** A PostgreSQL server. The gateways, it and the load have the whole machine among them. `ends` removes it. */
export async function startCluster(ends: AsyncDisposableStack): ReturnType<typeof createCluster> {
  const programs = findPostgres()
  if (!programs) throw new Error('no PostgreSQL server is installed here')
  freeThisThread()
  const cluster = await createCluster({ programs, settings: ['max_connections=200'] })
  ends.defer(cluster.remove)
  await cluster.start()
  return cluster
}

/** One after the other: the first makes the tables. `more` is laid over their configuration; `ends` stops them. */
export async function startGateways(
  gateways: number,
  more: object,
  ends: AsyncDisposableStack,
): Promise<readonly ServerProcess[]> {
  const ours = describeBenchGateway({ a2a: { auth: { anonymous: true }, limits }, ...more })
  const servers: ServerProcess[] = []
  while (servers.length < gateways) servers.push(ends.use(await startServer({ ...ours, core: undefined })))
  return servers
}

/**
 * @param connections calls under way at a time, of each gateway
 * @returns calls a second, from the first sent to the last answered. @throws Error when a turn is missing or one too many
 */
export async function measureRate(
  servers: readonly ServerProcess[],
  calls: readonly Uint8Array[],
  connections: number,
): Promise<number> {
  const countTurns = async () =>
    (await Promise.all(servers.map(server => server.sample()))).reduce((sum, { handled }) => sum + handled, 0)
  const before = await countTurns()
  const begun = performance.now()
  const saturate = ({ port }: ServerProcess, at: number) => {
    const requests = calls.filter((_, index) => index % servers.length === at)
    return saturateServer({ port, connections, requests, isAccepted: isCompleted }, 600)
  }
  await Promise.all(servers.map(saturate))
  const seconds = (performance.now() - begun) / 1_000
  const turns = (await countTurns()) - before
  if (turns !== calls.length) throw new Error(`${calls.length} calls were answered, and agents had ${turns} turns`)
  return calls.length / seconds
}

/** @param rates calls a second of each plan, one figure a round */
export function toPostgresFigures(
  plans: readonly PostgresPlan[],
  rates: readonly (readonly number[])[],
  { title, what }: { readonly title: string; readonly what: string },
): readonly Figure[] {
  return plans.map(({ name, note, against, aim }, index) => {
    const own = rates[index] ?? []
    const beside = rates[plans.findIndex(each => each.name === against)]
    return {
      case: title,
      name,
      note: `${what}; ${note}`,
      value: median(own),
      unit: 'calls/s',
      ...(beside && {
        beside: median(beside),
        ratio: medianRatio(own, beside, rate => rate),
        against: `÷ ${against}`,
        aim,
      }),
    }
  })
}
