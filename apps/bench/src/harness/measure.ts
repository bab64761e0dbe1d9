// Measures one round at one server: throughput, CPU time per message, latency and memory.
import type { HttpLoad } from '../http/load.ts'
import { paceServer, saturateServer } from '../http/load.ts'
import type { Sample, ServerProcess } from '../servers/process.ts'
import { quantile } from './statistics.ts'

/** The result of one round at one server. */
export interface RoundResult {
  /** The CPU time of the server process per message, µs. */
  readonly cpuMicros: number
  /** Messages per second of wall time while saturated. */
  readonly perSecond: number
  /** Latency of the paced phase, ms. */
  readonly p99: number
  /** The resident memory at the end of the saturated phase, bytes. */
  readonly rss: number
  readonly messages: number
}

/** Share of a server's saturated rate at which its latency is measured. */
export const pacedShare = 0.3

interface RoundOptions {
  readonly server: ServerProcess
  readonly load: HttpLoad
  readonly seconds: number
}

/** Saturates a server, waits until it has handled everything it accepted, then measures its latency at a moderate load. */
export async function measureRound({ server, load, seconds }: RoundOptions): Promise<RoundResult> {
  const reserved = Math.ceil((load.requests.length * pacedShare) / 2 / (1 + pacedShare / 2))
  const sampleBefore = await server.sample()
  const saturated = await saturateServer({ ...load, requests: load.requests.slice(0, -reserved) }, seconds)
  const { rss } = await server.sample()
  const sampleAfter = await settleServer(server, sampleBefore.handled + saturated.expectedCount)
  const perSecond = saturated.expectedCount / saturated.seconds
  const pacedRate = perSecond * pacedShare
  const remainingRequests = load.requests.slice(
    saturated.expectedCount,
    saturated.expectedCount + Math.ceil((pacedRate * seconds) / 2),
  )
  const paced = await paceServer({ ...load, requests: remainingRequests }, pacedRate)
  await settleServer(server, sampleAfter.handled + paced.expectedCount)
  return {
    cpuMicros: (sampleAfter.cpu - sampleBefore.cpu) / saturated.expectedCount,
    perSecond,
    p99: quantile(paced.latencies, 0.99),
    rss,
    messages: saturated.expectedCount,
  }
}

const settleLimitMs = 60_000
const restLimitMs = 2_000
const settleStepMs = 40
/** A process is at rest if it used less CPU time than this since the last sample, µs. */
const restMicros = 2_000

/**
 * Waits until a server is at rest, because work that it postpones until after its answer is part of the cost of a message.
 * @returns what it has used by then, and when it had handled everything, in ms of this process's clock
 * @throws Error when it has not handled exactly what it accepted
 */
export async function settleServer(
  server: ServerProcess,
  expected: number,
): Promise<Sample & { readonly doneAt: number }> {
  const isDone = ({ handled }: Sample) => handled === expected
  const finalSample = await sampleUntil(server, isDone, settleLimitMs)
  const doneAt = performance.now()
  if (!isDone(finalSample)) throw new Error(`handled ${finalSample.handled} messages, but accepted ${expected}`)
  const atRest = await sampleUntil(server, ({ cpu }, previous) => cpu - previous.cpu < restMicros, restLimitMs)
  return { ...atRest, doneAt }
}

/** Samples a server until a sample is enough or the time is up. Returns the last sample in both cases. */
async function sampleUntil(
  server: ServerProcess,
  isEnough: (sample: Sample, previous: Sample) => boolean,
  limitMs: number,
): Promise<Sample> {
  const deadline = performance.now() + limitMs
  let previousSample = await server.sample()
  while (performance.now() < deadline) {
    await new Promise(resolve => setTimeout(resolve, settleStepMs))
    const sample = await server.sample()
    if (isEnough(sample, previousSample)) return sample
    previousSample = sample
  }
  return previousSample
}
