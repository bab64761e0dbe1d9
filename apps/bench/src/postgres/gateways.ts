import type { Figure } from '../harness/figure.ts'
import { median } from '../harness/measure.ts'
import { saturateServer } from '../http/load.ts'
import { describeBenchGateway } from '../ours/open.ts'
import type { ServerProcess } from '../servers/process.ts'
import { startServer } from '../servers/process.ts'

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
  /** Calls a second, one figure a round. */
  readonly rates: number[]
}

/** One after the other: the first makes the tables. `more` is laid over their configuration. */
export async function startGateways(gateways: number, more: object): Promise<readonly ServerProcess[]> {
  const tree = { a2a: { auth: { anonymous: true }, limits }, ...more }
  const servers: ServerProcess[] = []
  while (servers.length < gateways) servers.push(await startServer({ ...describeBenchGateway(tree), core: undefined }))
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
  const isAccepted = ({ status, body }: { readonly status: number; readonly body: Buffer }) =>
    status === 200 && body.includes('TASK_STATE_COMPLETED')
  const saturate = ({ port }: ServerProcess, at: number) => {
    const requests = calls.filter((_, index) => index % servers.length === at)
    return saturateServer({ port, connections, requests, isAccepted }, 600)
  }
  await Promise.all(servers.map(saturate))
  const seconds = (performance.now() - begun) / 1_000
  const turns = (await countTurns()) - before
  if (turns !== calls.length) throw new Error(`${calls.length} calls were answered, and agents had ${turns} turns`)
  return calls.length / seconds
}

/** `title` and `what` of all of them. */
export function toPostgresFigure(
  { name, note, rates, against, aim }: PostgresContender,
  contenders: readonly PostgresContender[],
  [title, what]: readonly [string, string],
): Figure {
  const other = contenders.find(each => each.name === against)
  return {
    case: title,
    name,
    note: `${what}; ${note}`,
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
