import { pairWithEarlier } from '../earlier/rivals.ts'
import type { Figure, ProbeOptions } from '../harness/figure.ts'
import { median, settleServer } from '../harness/measure.ts'
import type { ServerProcess } from '../servers/process.ts'
import { startServer } from '../servers/process.ts'

const title = 'Fan-out'
const inboxes = 1_000
/** Rounds that only warm up. */
const warmUps = 2
const maxRounds = 3

interface Sender {
  readonly name: string
  readonly note: string
  readonly entry: URL
  readonly nodeFlags?: readonly string[]
  /** Least ratio of our deliveries a second to its. */
  readonly aim?: number
  readonly needs?: readonly URL[]
}

/** Ours comes first. */
const peers: readonly Sender[] = [
  {
    name: 'Postern',
    note: 'a post of an agent to all who follow it: from its turn to the last delivery settled in the store; the document with its own proof',
    entry: new URL('./ours.ts', import.meta.url),
    nodeFlags: ['--max-semi-space-size=8'],
  },
  {
    name: 'Fedify 2.3.6',
    note: 'sendActivity() with a parallel queue in memory; one knock each, RSA-2048',
    entry: new URL('./fedify.ts', import.meta.url),
    aim: 7,
  },
  {
    name: 'floor: sign and POST',
    note: 'one RSA-2048 signature in the thread pool and one POST by node:http over kept connections each; nothing else',
    entry: new URL('./floor.ts', import.meta.url),
    aim: 0.8,
  },
]

interface FanoutCost {
  readonly perSecond: number
  /** CPU time per delivery. */
  readonly cpuMicros: number
}

/** One post to a thousand inboxes on a thousand hosts, all of them in another process on loopback. */
export async function probeFanout({ rounds, cores, earlier, progress }: ProbeOptions): Promise<readonly Figure[]> {
  const sink = await startServer({ entry: new URL('./sink.ts', import.meta.url), setup: {}, core: cores?.load })
  const setup = { port: sink.port, count: inboxes }
  const senders = earlier ? pairWithEarlier(peers.slice(0, 1), earlier) : peers
  const measured = earlier ? rounds : Math.min(rounds, maxRounds)
  const running: { readonly server: ServerProcess; readonly costs: FanoutCost[] }[] = []
  let serial = Date.now()
  try {
    for (const { entry, nodeFlags } of senders) {
      progress('fan-out: warming up')
      const server = await startServer({ entry, setup, nodeFlags, core: cores?.server })
      running.push({ server, costs: [] })
      for (let round = 0; round < warmUps; round++) await fanOut(server, sink, String(serial++))
    }
    for (let round = 1; round <= measured; round++) {
      progress(`fan-out: round ${round} of ${measured}`)
      for (const { server, costs } of round % 2 === 0 ? running : running.toReversed()) {
        costs.push(await fanOut(server, sink, String(serial++)))
      }
    }
  } finally {
    await Promise.all([...running.map(({ server }) => server.stop()), sink.stop()])
  }
  const [ours] = running
  return senders.map((sender, index) =>
    toFigure(sender, running[index]?.costs ?? [], index > 0 ? ours?.costs : undefined),
  )
}

async function fanOut(server: ServerProcess, sink: ServerProcess, serial: string): Promise<FanoutCost> {
  const arrivedBefore = (await sink.sample()).handled
  const before = await server.sample()
  const begun = performance.now()
  await server.work({ serial })
  const seconds = (performance.now() - begun) / 1000
  const { cpu } = await settleServer(server, before.handled + inboxes)
  const arrived = (await sink.sample()).handled - arrivedBefore
  if (arrived !== inboxes) throw new Error(`${arrived} of ${inboxes} deliveries arrived`)
  return { perSecond: inboxes / seconds, cpuMicros: (cpu - before.cpu) / inboxes }
}

function toFigure(sender: Sender, costs: readonly FanoutCost[], ours: readonly FanoutCost[] | undefined): Figure {
  const { name, note, aim } = sender
  const cpu = median(costs.map(({ cpuMicros }) => cpuMicros)).toFixed(0)
  const ratioOf = (pick: (cost: FanoutCost, own: FanoutCost) => number) =>
    median(costs.map((cost, round) => pick(cost, ours?.[round] ?? cost)))
  const cpuRatio = ours ? `, ${ratioOf((cost, own) => cost.cpuMicros / own.cpuMicros).toFixed(2)} times ours` : ''
  return {
    case: title,
    name,
    note: `${note}; ${cpu} µs of CPU time each${cpuRatio}`,
    value: median(costs.map(({ perSecond }) => perSecond)),
    unit: 'deliveries/s',
    ...(ours && {
      beside: median(ours.map(({ perSecond }) => perSecond)),
      ratio: ratioOf((cost, own) => own.perSecond / cost.perSecond),
      against: 'ours ÷ it',
    }),
    ...(aim !== undefined && { aim: { atLeast: aim } }),
  }
}
