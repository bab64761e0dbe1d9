// Warms servers up before they are measured, because V8 compiles a busy program for tens of thousands of messages.
import type { HttpLoad } from '../http/load.ts'
import { saturateServer } from '../http/load.ts'
import type { ServerProcess } from '../servers/process.ts'
import { settleServer } from './measure.ts'

/** A server to warm up, and the variant of the requests that it accepts. */
export interface ColdServer {
  readonly server: ServerProcess
  readonly variant?: string | undefined
}

/** The requests of a warm-up. */
interface WarmUpLoad extends Pick<HttpLoad, 'connections' | 'isExpected'> {
  /** Prepares fresh requests, never sent before. */
  prepare(count: number, variant?: string): Promise<readonly Uint8Array[]>
}

/** The largest number of requests in memory at a time, for each variant. */
const maxBatchSize = 4_000
/** The timeout of a portion, seconds, longer than any portion takes. */
const patienceSeconds = 600

/**
 * Sends `count` messages to each server, in alternating portions; servers of one variant share the requests of a portion.
 * @returns the messages per second of each server in its last portion
 */
export async function warmUpServers(
  servers: readonly ColdServer[],
  load: WarmUpLoad,
  count: number,
): Promise<readonly number[]> {
  const rates = servers.map(() => 0)
  for (const portion of splitWarmUp(count)) {
    const requestsByVariant = new Map<string | undefined, readonly Uint8Array[]>()
    for (const [index, { server, variant }] of servers.entries()) {
      const requests = requestsByVariant.get(variant) ?? (await load.prepare(portion, variant))
      requestsByVariant.set(variant, requests)
      const sampleBefore = await server.sample()
      const outcome = await saturateServer({ ...load, port: server.port, requests }, patienceSeconds)
      await settleServer(server, sampleBefore.handled + outcome.expectedCount)
      rates[index] = outcome.expectedCount / outcome.seconds
    }
  }
  return rates
}

/** Splits a warm-up into portions of at most 4,000 messages. */
export function splitWarmUp(count: number): readonly number[] {
  const portions = Math.ceil(count / maxBatchSize)
  return Array.from({ length: portions }, (_, index) => Math.min(maxBatchSize, count - index * maxBatchSize))
}
