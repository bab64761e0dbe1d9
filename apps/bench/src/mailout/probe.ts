import { pairWithEarlier } from '../earlier/rivals.ts'
import type { Figure, ProbeOptions } from '../harness/figure.ts'
import { median, settleServer } from '../harness/measure.ts'
import type { ServerProcess } from '../servers/process.ts'
import { startServer } from '../servers/process.ts'

interface Sender {
  readonly name: string
  readonly note: string
  readonly entry: URL
  readonly more?: Readonly<Record<string, unknown>>
  readonly nodeFlags?: readonly string[]
  readonly needs?: readonly URL[]
  /** Least ratio of our mails a second to its. */
  readonly aim?: number
}

const nodemailer = new URL('./nodemailer.ts', import.meta.url)

/** Ours comes first. */
const peers: readonly Sender[] = [
  {
    name: 'Postern',
    note: "stored mail answered: from the agent's turn to the delivery settled in the store; text and HTML, signed twice, an envelope sender of its own",
    entry: new URL('./ours.ts', import.meta.url),
    nodeFlags: ['--max-semi-space-size=8'],
  },
  {
    name: 'nodemailer + mailauth',
    note: 'the same mail, signed twice, over a pool of connections; in memory',
    entry: nodemailer,
    more: { isSigned: true },
  },
  {
    name: 'nodemailer alone',
    note: 'the same, not signed',
    entry: nodemailer,
    more: { isSigned: false },
  },
]

interface Cost {
  readonly perSecond: number
  /** CPU time per mail. */
  readonly cpuMicros: number
}

/** Mails to one smarthost, which is another process on loopback. */
export async function probeMailOut({
  rounds,
  quick,
  cores,
  earlier,
  progress,
}: ProbeOptions): Promise<readonly Figure[]> {
  const count = quick ? 300 : 1_000
  const sink = await startServer({ entry: new URL('./sink.ts', import.meta.url), setup: {}, core: cores?.load })
  const senders = earlier ? pairWithEarlier(peers.slice(0, 1), earlier) : peers
  const running: { readonly server: ServerProcess; readonly costs: Cost[] }[] = []
  let first = 0
  const run = async (server: ServerProcess) => {
    const cost = await sendMails(server, sink, { first, count })
    first += count
    return cost
  }
  try {
    for (const { entry, more, nodeFlags } of senders) {
      progress('mail out: warming up')
      const setup = { ...more, port: sink.port }
      const server = await startServer({ entry, setup, nodeFlags, core: cores?.server })
      running.push({ server, costs: [] })
      await run(server)
    }
    for (let round = 1; round <= rounds; round++) {
      progress(`mail out: round ${round} of ${rounds}`)
      for (const { server, costs } of round % 2 === 0 ? running : running.toReversed()) costs.push(await run(server))
    }
  } finally {
    await Promise.all([...running.map(({ server }) => server.stop()), sink.stop()])
  }
  const ours = running[0]?.costs ?? []
  return senders.map((sender, index) => toFigure(sender, running[index]?.costs ?? [], index > 0 ? ours : undefined))
}

async function sendMails(
  server: ServerProcess,
  sink: ServerProcess,
  order: { readonly first: number; readonly count: number },
): Promise<Cost> {
  const { count } = order
  const arrivedBefore = (await sink.sample()).handled
  const before = await server.sample()
  const begun = performance.now()
  await server.work(order)
  const seconds = (performance.now() - begun) / 1000
  const { cpu } = await settleServer(server, before.handled + count)
  const arrived = (await sink.sample()).handled - arrivedBefore
  if (arrived !== count) throw new Error(`${arrived} of ${count} mails arrived`)
  return { perSecond: count / seconds, cpuMicros: (cpu - before.cpu) / count }
}

function toFigure({ name, note, aim }: Sender, costs: readonly Cost[], ours: readonly Cost[] | undefined): Figure {
  const cpu = median(costs.map(({ cpuMicros }) => cpuMicros)).toFixed(0)
  const ratioOf = (pick: (cost: Cost, own: Cost) => number) =>
    median(costs.map((cost, round) => pick(cost, ours?.[round] ?? cost)))
  const cpuRatio = ours ? `, ${ratioOf((cost, own) => cost.cpuMicros / own.cpuMicros).toFixed(2)} times ours` : ''
  return {
    case: 'Mail out',
    name,
    note: `${note}; ${cpu} µs of CPU time each${cpuRatio}`,
    value: median(costs.map(({ perSecond }) => perSecond)),
    unit: 'mails/s',
    ...(ours && {
      beside: median(ours.map(({ perSecond }) => perSecond)),
      ratio: ratioOf((cost, own) => own.perSecond / cost.perSecond),
      against: 'ours ÷ it',
    }),
    ...(aim !== undefined && { aim: { atLeast: aim } }),
  }
}
