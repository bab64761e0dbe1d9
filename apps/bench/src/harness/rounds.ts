import type { HttpAnswer } from '../http/load.ts'
import type { Cores, ServerProcess } from '../servers/process.ts'
import { startServer } from '../servers/process.ts'
import type { RoundResult } from './measure.ts'
import { measureRound, pacedShare } from './measure.ts'
import { measureByTurns } from './turns.ts'

/** One server that takes the case's requests. */
export interface Contender {
  readonly name: string
  /** What a reader should know about what it does and does not do. */
  readonly note: string
  /** The file that runs it, and what that file is told. */
  readonly entry: URL
  readonly setup: unknown
  /** Flags of Node it is started with. */
  readonly nodeFlags?: readonly string[] | undefined
  /** Least ratio "its CPU time per message ÷ ours" we aim for; absent for ourselves and for mere information. */
  readonly aim?: number | undefined
  /** The contender this one is compared with; default: the case's first one. */
  readonly against?: string | undefined
  /** Files beside `entry` without which it cannot do the job: an earlier commit may lack them. */
  readonly needs?: readonly URL[] | undefined
  /** Where this contender wants its requests, when it differs from the others' address or credentials. */
  readonly variant?: string | undefined
}

/** A job that several servers do with the very same requests. */
export interface BenchCase {
  readonly name: string
  readonly title: string
  readonly connections: number
  /** Messages of the round that only warms up; default 4 000. */
  readonly warmUp?: number | undefined
  /** Ours comes first. */
  readonly contenders: readonly Contender[]
  /** Fresh requests, never sent before; made before a round, outside of the measured time. */
  prepare(count: number, variant?: string): Promise<readonly Uint8Array[]>
  isAccepted(answer: HttpAnswer): boolean
  close(): Promise<void>
}

export interface RoundsOptions {
  readonly rounds: number
  /** Of each saturated phase. */
  readonly seconds: number
  readonly cores: Cores | undefined
  /** Tells a waiting person what goes on. */
  progress(text: string): void
}

/** What all rounds gave, by contender, in the case's order. */
export type CaseResults = ReadonlyMap<Contender, readonly RoundResult[]>

/** Messages of the first round, which only warms up: compilers, caches, keys, connections. */
const warmUpCount = 4_000

/** Starts every contender, then measures them by turns. */
export async function runRounds(benchCase: BenchCase, options: RoundsOptions): Promise<CaseResults> {
  const { seconds, cores } = options
  const { contenders, name: title, warmUp = warmUpCount } = benchCase
  await using servers = new AsyncDisposableStack()
  const running: { readonly contender: Contender; readonly server: ServerProcess; perSecond: number }[] = []
  for (const contender of contenders) {
    const server = servers.use(await startServer({ ...contender, core: cores?.server }))
    running.push({ contender, server, perSecond: 0 })
  }
  const takeRequests = createSupply(benchCase)
  const results = await measureByTurns(running, { ...options, title }, async (one, round) => {
    // Enough for the fastest of them in both phases of a round.
    const fastest = Math.max(...running.map(({ perSecond }) => perSecond))
    const needed = round === 0 ? warmUp : Math.ceil(fastest * seconds * (1 + pacedShare / 2) * 1.1)
    const { server, contender } = one
    const requests = await takeRequests(round, needed, contender.variant)
    const result = await measureRound({ server, load: { ...benchCase, port: server.port, requests }, seconds })
    one.perSecond = result.perSecond
    return result
  })
  return new Map(contenders.map((contender, index) => [contender, results[index] ?? []]))
}

/** In one round everybody with the same variant gets the very same requests. */
function createSupply(benchCase: BenchCase) {
  const prepared = new Map<string, Promise<readonly Uint8Array[]>>()
  let currentRound = -1
  return (round: number, count: number, variant = ''): Promise<readonly Uint8Array[]> => {
    if (round !== currentRound) prepared.clear()
    currentRound = round
    const requests = prepared.get(variant) ?? benchCase.prepare(count, variant)
    prepared.set(variant, requests)
    return requests
  }
}
