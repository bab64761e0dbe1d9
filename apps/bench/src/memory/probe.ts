// Measures the resident memory of a gateway as up to a hundred thousand messages pass through it.
import { setTimeout as sleep } from 'node:timers/promises'
import { isAccepted202, openTraffic } from '../activitypub/traffic.ts'
import type { Figure, ProbeOptions } from '../harness/tables/figure.ts'
import { saturateServer } from '../http/load.ts'
import type { LaunchedGateway } from '../ours/launched-gateway.ts'
import { launchGateway } from '../ours/launched-gateway.ts'
import { findAgentModule, gatewayHost, unreachableLimits } from '../ours/open.ts'

const title = 'Memory'
const connections = 24
/** The number of requests that are in memory at a time. */
const batchSize = 1_000
const senderCount = 200
/** The rate of new senders. A gateway fetches the actor of each new sender, at most about 100 per second. */
const newSendersPerSecond = 50
const counts = { usual: [1_000, 10_000, 100_000], quick: [1_000, 10_000] } as const
const aim = { atMost: 1.2 } as const
/** The pause until the memory of a burst is free again, ms. */
const restMs = 1_000

/** Measures the resident memory of a fresh gateway as messages go through it; memory kept per message would show. */
export async function probeMemory({ quick, progress }: ProbeOptions): Promise<readonly Figure[]> {
  using traffic = await openTraffic({ agent: 'silent', senders: senderCount, keys: 'ed25519' })
  await using gateway = await launchGateway({
    origin: `https://${gatewayHost}`,
    dev: true,
    listen: { port: 0 },
    agents: { silent: { use: findAgentModule('silent') } },
    limits: unreachableLimits,
    network: { loopback: traffic.fediverse.loopback },
  })
  const sendPosts = async (count: number) => {
    const requests = await traffic.prepare(count)
    await saturateServer({ port: gateway.port, connections, requests, isExpected: isAccepted202 })
    return count
  }
  const sizes: number[] = []
  const messageCounts = quick ? counts.quick : counts.usual
  let sentCount = 0
  while (sentCount < senderCount) {
    sentCount += await sendPosts(newSendersPerSecond)
    await sleep(1_000)
  }
  for (const messageCount of messageCounts) {
    progress(`memory: up to ${messageCount} messages`)
    while (sentCount < messageCount) sentCount += await sendPosts(Math.min(batchSize, messageCount - sentCount))
    sizes.push(await readSettledRss(gateway, sentCount))
  }
  return messageCounts.map((mark, index) => toFigure(mark, sizes[index] ?? Number.NaN, sizes[0] ?? Number.NaN))
}

/** Reads the resident memory after all messages have been handled. */
async function readSettledRss(
  { countEndedMessages, readResident }: LaunchedGateway,
  expected: number,
): Promise<number> {
  while ((await countEndedMessages()) < expected) await sleep(50)
  await sleep(restMs)
  return readResident().now
}

function toFigure(count: number, bytes: number, first: number): Figure {
  const isFirst = count === counts.usual[0]
  return {
    case: title,
    name: `RSS after ${count} messages`,
    note: 'of 200 people on 100 servers, verified, stored, through an agent; one process from the first to the last',
    value: bytes / 1e6,
    unit: 'MB',
    ...(!isFirst && {
      referenceValue: first / 1e6,
      ratio: bytes / first,
      ratioLabel: `÷ after ${counts.usual[0]}`,
      aim,
    }),
  }
}
