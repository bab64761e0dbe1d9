// Drives a gateway with requests of all kinds for some seconds, and counts its answers.
import { openConnection } from '../http/connection.ts'
import { pauseFor } from '../ours/launched-gateway.ts'

const connections = 16

/** A load, and its length. */
export interface GatewayLoad {
  readonly port: number
  readonly seconds: number
  /** The number of requests per second; absent for as many as the gateway accepts. */
  readonly perSecond?: number | undefined
  /** Makes one request that was never made before. */
  makeRequest(): Promise<Uint8Array>
}

/** The outcome of a load. */
export interface GatewayLoadResult {
  readonly perSecond: number
  /** The number of answers with each status. */
  readonly statuses: ReadonlyMap<number, number>
}

/** Sends over several connections until the seconds are over. */
export async function driveGateway({
  port,
  seconds,
  perSecond = Number.POSITIVE_INFINITY,
  makeRequest,
}: GatewayLoad): Promise<GatewayLoadResult> {
  const startedAt = performance.now()
  const statuses = new Map<number, number>()
  let sentCount = 0
  async function runConnection(): Promise<void> {
    const connection = await openConnection(port)
    while (performance.now() - startedAt < seconds * 1000) {
      await pauseFor(startedAt + (sentCount++ / perSecond) * 1000 - performance.now())
      const { status } = await connection.exchange(await makeRequest())
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    connection.close()
  }
  await Promise.all(Array.from({ length: connections }, runConnection))
  const answeredCount = [...statuses.values()].reduce((sum, count) => sum + count, 0)
  return { perSecond: answeredCount / ((performance.now() - startedAt) / 1000), statuses }
}
