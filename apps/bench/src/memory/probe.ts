import { setTimeout as rest } from 'node:timers/promises'
import { isTaken, openTraffic } from '../activitypub/traffic.ts'
import type { Figure, ProbeOptions } from '../harness/figure.ts'
import { saturateServer } from '../http/load.ts'
import { describeBenchGateway } from '../ours/open.ts'
import type { ServerProcess } from '../servers/process.ts'
import { startServer } from '../servers/process.ts'

const title = 'Memory'
const connections = 24
/** Requests in memory at a time. */
const portion = 1_000
const counts = { usual: [1_000, 10_000, 100_000], quick: [1_000, 10_000] } as const
const aim = { atMost: 1.2 } as const
/** Until what a burst leaves behind is gone. */
const restMs = 1_000

/** Resident memory of a fresh gateway as messages go through it: what is kept per message would show. */
export async function probeMemory({ quick, cores, progress }: ProbeOptions): Promise<readonly Figure[]> {
  using traffic = await openTraffic({ agent: 'silent', senders: 200, keys: 'ed25519' })
  const ours = describeBenchGateway({ network: { loopback: traffic.fediverse.loopback } })
  await using gateway = await startServer({ ...ours, core: cores?.server })
  const sizes: number[] = []
  const marks = quick ? counts.quick : counts.usual
  let sent = 0
  for (const mark of marks) {
    progress(`memory: up to ${mark} messages`)
    for (; sent < mark; sent += portion) {
      const requests = await traffic.prepare(portion)
      await saturateServer({ port: gateway.port, connections, requests, isAccepted: isTaken })
    }
    sizes.push(await readResident(gateway, sent))
  }
  return marks.map((mark, index) => toFigure(mark, sizes[index] ?? Number.NaN, sizes[0] ?? Number.NaN))
}

/** Once all of them went the whole way. */
async function readResident(gateway: ServerProcess, expected: number): Promise<number> {
  while ((await gateway.sample()).handled < expected) await rest(50)
  await rest(restMs)
  return (await gateway.sample()).rss
}

function toFigure(count: number, bytes: number, first: number): Figure {
  const isFirst = count === counts.usual[0]
  return {
    case: title,
    name: `RSS after ${count} messages`,
    note: 'of 200 people on 100 servers, verified, stored, through an agent; one process from the first to the last',
    value: bytes / 1e6,
    unit: 'MB',
    ...(!isFirst && { beside: first / 1e6, ratio: bytes / first, against: `÷ after ${counts.usual[0]}`, aim }),
  }
}
