import type { HttpAnswer } from '../http/load.ts'
import type { Cores, ServerProcess } from '../servers/process.ts'
import { startServer } from '../servers/process.ts'
import type { RoundResult } from './measure.ts'
import { measureRound, pacedShare } from './measure.ts'

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

interface RoundsOptions {
  readonly rounds: number
  readonly seconds: number
  readonly cores: Cores | undefined
  /** Tells a waiting person what goes on. */
  progress(text: string): void
}

/** What all rounds gave, by contender, in the case's order. */
export type CaseResults = ReadonlyMap<Contender, readonly RoundResult[]>

/** Messages of the first round, which only warms up: compilers, caches, keys, connections. */
const warmUpCount = 4_000

/**
 * Starts every contender, then measures them by turns, every other round backwards: A B C, C B A, A B C, … so that other work on the
 * machine, and what a round leaves behind, meets all of them alike.
 */
export async function runRounds(benchCase: BenchCase, options: RoundsOptions): Promise<CaseResults> {
  const { rounds, seconds, cores, progress } = options
  const running: { contender: Contender; server: ServerProcess; results: RoundResult[] }[] = []
  const requests = createSupply(benchCase)
  try {
    for (const contender of benchCase.contenders) {
      const server = await startServer({ ...contender, core: cores?.server })
      running.push({ contender, server, results: [] })
    }
    for (let round = 0; round <= rounds; round++) {
      progress(`${benchCase.name}: ${round === 0 ? 'warming up' : `round ${round} of ${rounds}`}`)
      const needed = round === 0 ? (benchCase.warmUp ?? warmUpCount) : countNeeded(running, seconds)
      for (const { contender, server, results } of round % 2 === 0 ? running : running.toReversed()) {
        const load = {
          ...benchCase,
          port: server.port,
          requests: await requests.take(round, needed, contender.variant),
        }
        results.push(await measureRound({ server, load, seconds }))
      }
    }
  } finally {
    await Promise.all(running.map(({ server }) => server.stop()))
  }
  return new Map(running.map(({ contender, results }) => [contender, results.slice(1)]))
}

/** Enough for the fastest of them in both phases of a round. */
function countNeeded(running: readonly { readonly results: readonly RoundResult[] }[], seconds: number): number {
  const fastest = Math.max(...running.map(({ results }) => results.at(-1)?.perSecond ?? 0))
  return Math.ceil(fastest * seconds * (1 + pacedShare / 2) * 1.1)
}

/** In one round everybody with the same variant gets the very same requests. */
function createSupply(benchCase: BenchCase) {
  const prepared = new Map<string, Promise<readonly Uint8Array[]>>()
  let currentRound = -1
  return {
    take(round: number, count: number, variant: string | undefined): Promise<readonly Uint8Array[]> {
      if (round !== currentRound) prepared.clear()
      currentRound = round
      const key = variant ?? ''
      const requests = prepared.get(key) ?? benchCase.prepare(count, variant)
      prepared.set(key, requests)
      return requests
    },
  }
}
