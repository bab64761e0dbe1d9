import type { HttpLoad } from '../http/load.ts'
import { paceServer, saturateServer } from '../http/load.ts'
import type { Sample, ServerProcess } from '../servers/process.ts'

/** What one round at one server gave. */
export interface RoundResult {
  /** CPU time of the server process per message, µs. */
  readonly cpuMicros: number
  /** Messages per second of wall time while saturated. */
  readonly perSecond: number
  /** Of the paced phase, ms. */
  readonly p99: number
  /** Bytes, at the end of the saturated phase. */
  readonly rss: number
  readonly messages: number
}

/** Share of its own saturated rate at which a server's latency is taken. */
export const pacedShare = 0.3

interface RoundOptions {
  readonly server: ServerProcess
  readonly load: HttpLoad
  readonly seconds: number
}

/** Saturates a server, waits until it has done all it accepted, then takes its latency at a comfortable load. */
export async function measureRound({ server, load, seconds }: RoundOptions): Promise<RoundResult> {
  const reserved = Math.ceil((load.requests.length * pacedShare) / 2 / (1 + pacedShare / 2))
  const before = await server.sample()
  const saturated = await saturateServer({ ...load, requests: load.requests.slice(0, -reserved) }, seconds)
  const { rss } = await server.sample()
  const after = await settleServer(server, before.handled + saturated.accepted)
  const perSecond = saturated.accepted / saturated.seconds
  const pacedRate = perSecond * pacedShare
  const rest = load.requests.slice(saturated.accepted, saturated.accepted + Math.ceil((pacedRate * seconds) / 2))
  const paced = await paceServer({ ...load, requests: rest }, pacedRate)
  await settleServer(server, after.handled + paced.accepted)
  return {
    cpuMicros: (after.cpu - before.cpu) / saturated.accepted,
    perSecond,
    p99: quantile(paced.latencies, 0.99),
    rss,
    messages: saturated.accepted,
  }
}

const settleLimitMs = 60_000
const restLimitMs = 2_000
const settleStepMs = 40
/** A process that used less than this since the last look is at rest, µs. */
const restMicros = 2_000

/**
 * Work a server puts off until after its answer is part of the message's price.
 * @returns what it has used then, and when everything was done, by this process's clock, ms
 * @throws Error when it has not handled exactly what it accepted
 */
export async function settleServer(
  server: ServerProcess,
  expected: number,
): Promise<Sample & { readonly doneAt: number }> {
  const isDone = ({ handled }: Sample) => handled === expected
  const done = await sampleUntil(server, isDone, settleLimitMs)
  const doneAt = performance.now()
  if (!isDone(done)) throw new Error(`handled ${done.handled} messages, but accepted ${expected}`)
  const atRest = await sampleUntil(server, ({ cpu }, last) => cpu - last.cpu < restMicros, restLimitMs)
  return { ...atRest, doneAt }
}

/** Looks until what it sees will do, or the time is over; the last look either way. */
async function sampleUntil(
  server: ServerProcess,
  isEnough: (sample: Sample, last: Sample) => boolean,
  limitMs: number,
): Promise<Sample> {
  const until = performance.now() + limitMs
  let last = await server.sample()
  while (performance.now() < until) {
    await new Promise(resolve => setTimeout(resolve, settleStepMs))
    const sample = await server.sample()
    if (isEnough(sample, last)) return sample
    last = sample
  }
  return last
}

/** The value at `share` (0–1) of the sorted values; NaN of none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** The middle one of the ratios that the figures of each round have. */
export function medianRatio<Round>(
  rounds: readonly Round[],
  beside: readonly Round[],
  pick: (round: Round) => number,
): number {
  return median(rounds.map((each, index) => pick(each) / pick(beside[index] ?? each)))
}

/** The middle value; the mean of the two middle ones of an even count. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]]
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2
}
