// Runs the servers of a bench case in turns, each round with the same requests.
import type { Aim } from '../aims/rows.ts'
import type { HttpAnswer } from '../http/message.ts'
import type { Cores } from '../servers/cores.ts'
import type { ServerProcess } from '../servers/process.ts'
import { startServer } from '../servers/process.ts'
import { measureInterleaved } from './interleave.ts'
import type { RoundResult } from './measure.ts'
import { measureRound, pacedShare } from './measure.ts'
import { warmUpServers } from './warm-up.ts'

/**
 * One server that takes the case's requests. The bound of its `aim` is of the ratio "its CPU time per message ÷ ours"; ourselves and mere
 * information have none.
 */
export interface Contender extends Partial<Aim> {
  readonly name: string
  /** Facts for the reader about the work that it does and does not do. */
  readonly note: string
  /** The file that runs it, and the setup that the file gets. */
  readonly entry: URL
  readonly setup: unknown
  /** The flags of Node that it starts with. */
  readonly nodeFlags?: readonly string[] | undefined
  /** The contender that this one is compared with. Absent for the case's first one. */
  readonly referenceName?: string | undefined
  /** Files next to `entry` without which it cannot do the job, because an earlier commit may lack them. */
  readonly requiredFiles?: readonly URL[] | undefined
  /** The variant of its requests, if their address or credentials differ from those of others. */
  readonly variant?: string | undefined
}

/** A job that several servers do with the very same requests. */
export interface BenchCase {
  readonly name: string
  readonly title: string
  readonly connections: number
  /** The largest number of warm-up messages, if 40,000 would take too long. */
  readonly maxWarmUp?: number | undefined
  /** The contenders, ours first. */
  readonly contenders: readonly Contender[]
  /** Prepares fresh requests, never sent before. They are made before a round, outside of the measured time. */
  prepare(count: number, variant?: string): Promise<readonly Uint8Array[]>
  isExpected(answer: HttpAnswer): boolean
  close(): Promise<void>
}

export interface RoundsOptions {
  readonly rounds: number
  /** The number of messages that each server handles before the first round. */
  readonly warmUp: number
  /** The length of each saturated phase, seconds. */
  readonly seconds: number
  readonly cores: Cores | undefined
  /** Reports the progress to a waiting person. */
  progress(text: string): void
}

/** The results of all rounds, by contender, in the case's order. */
export type CaseResults = ReadonlyMap<Contender, readonly RoundResult[]>

/** Starts every contender, warms it up, then measures them by turns. */
export async function runRounds(benchCase: BenchCase, options: RoundsOptions): Promise<CaseResults> {
  const { seconds, cores, progress } = options
  const { contenders, name: title, maxWarmUp = options.warmUp } = benchCase
  await using servers = new AsyncDisposableStack()
  const running: RunningContender[] = []
  for (const contender of contenders) {
    const server = servers.use(await startServer({ ...contender, core: cores?.server }))
    running.push({ contender, server, variant: contender.variant, perSecond: 0 })
  }
  const count = Math.min(maxWarmUp, options.warmUp)
  progress(`${title}: warming up with ${count} messages each`)
  const rates = await warmUpServers(running, benchCase, count)
  for (const [index, contender] of running.entries()) contender.perSecond = rates[index] ?? 0
  const takeRequests = createSupply(benchCase)
  const results = await measureInterleaved(running, { ...options, title }, async (runningContender, round) => {
    // The count suffices for the fastest contender in both phases of a round.
    const fastest = Math.max(...running.map(({ perSecond }) => perSecond))
    const requestCount = Math.ceil(fastest * seconds * (1 + pacedShare / 2) * 1.1)
    const { server, contender } = runningContender
    const requests = await takeRequests(round, requestCount, contender.variant)
    const result = await measureRound({ server, load: { ...benchCase, port: server.port, requests }, seconds })
    runningContender.perSecond = result.perSecond
    return result
  })
  return new Map(contenders.map((contender, index) => [contender, results[index] ?? []]))
}

interface RunningContender {
  readonly contender: Contender
  readonly server: ServerProcess
  readonly variant: string | undefined
  /** The messages per second of the last round. */
  perSecond: number
}

/** Creates the supply of requests. In one round, all contenders of the same variant get the same requests. */
function createSupply(benchCase: BenchCase) {
  const requestsByVariant = new Map<string, Promise<readonly Uint8Array[]>>()
  let currentRound = -1
  return (round: number, count: number, variant = ''): Promise<readonly Uint8Array[]> => {
    if (round !== currentRound) requestsByVariant.clear()
    currentRound = round
    const requests = requestsByVariant.get(variant) ?? benchCase.prepare(count, variant)
    requestsByVariant.set(variant, requests)
    return requests
  }
}
