// Measures honest deliveries: their latency at a rate, and the CPU time of one.
import type { Traffic } from '../activitypub/traffic.ts'
import { isAccepted202 } from '../activitypub/traffic.ts'
import { settleServer } from '../harness/measure.ts'
import { quantile } from '../harness/statistics.ts'
import { paceServer, saturateServer } from '../http/load.ts'
import type { ResponseTimes } from '../ours/answer-times.ts'
import type { ServerProcess } from '../servers/process.ts'

/** Honest people and the gateway that they write to. */
export interface HonestTraffic {
  readonly traffic: Traffic
  readonly gateway: ServerProcess
}

/** The latencies of honest deliveries. */
export interface HonestLatencies {
  /** The p99 within the gateway's process. */
  readonly serverP99Ms: number
  /** The p99 as the client sees it, including the delay of a core that client, flooder and hosts share. */
  readonly clientP99Ms: number
  /** The p99 of the delay of the gateway's event loop. */
  readonly loopDelayP99Ms: number
}

const connections = 24

/** Measures honest deliveries that arrive at a rate. @throws Error if the gateway timed more or fewer than were sent */
export async function measureHonest(
  { traffic, gateway }: HonestTraffic,
  { perSecond, seconds }: { readonly perSecond: number; readonly seconds: number },
): Promise<HonestLatencies> {
  const requests = await traffic.prepare(Math.ceil(perSecond * seconds))
  await gateway.work('times')
  const { latencies } = await paceServer(loadOf(gateway, requests), perSecond)
  const { count, p99, loopDelayP99 } = (await gateway.work('times')) as ResponseTimes
  if (count !== latencies.length || p99 === null) {
    throw new Error(`the gateway timed ${count} accepted posts, but ${latencies.length} were sent`)
  }
  return { serverP99Ms: p99, clientP99Ms: quantile(latencies, 0.99), loopDelayP99Ms: loopDelayP99 }
}

/** Measures accepted deliveries at the highest rate of the gateway. */
export async function measureAccepted({ traffic, gateway }: HonestTraffic, count: number) {
  const requests = await traffic.prepare(count)
  const sampleBefore = await gateway.sample()
  const { expectedCount: acceptedCount, seconds } = await saturateServer(loadOf(gateway, requests))
  const { cpu } = await settleServer(gateway, sampleBefore.handled + acceptedCount)
  return { perSecond: acceptedCount / seconds, cpuMicros: (cpu - sampleBefore.cpu) / acceptedCount }
}

function loadOf({ port }: ServerProcess, requests: readonly Uint8Array[]) {
  return { port, connections, requests, isExpected: isAccepted202 }
}
