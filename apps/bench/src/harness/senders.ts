// Races servers that send (mail, posts) to a sink that counts the arrivals.
import type { Aim } from '../aims/rows.ts'
import type { ServerProcess } from '../servers/process.ts'
import { startServer } from '../servers/process.ts'
import { measureInterleaved } from './interleave.ts'
import { settleServer } from './measure.ts'
import type { Contender } from './rounds.ts'
import { median, medianRatio } from './statistics.ts'
import type { Figure, ProbeOptions } from './tables/figure.ts'

/** A server that sends on command. The bound of its `aim` is for the ratio of our rate to its rate. */
export interface SendingServer
  extends Pick<Contender, 'name' | 'note' | 'entry' | 'nodeFlags' | 'requiredFiles' | keyof Aim> {
  /** Further members of its setup. */
  readonly extraSetup?: Readonly<Record<string, unknown>>
}

interface SenderRace {
  readonly title: string
  /** The name of the sent items, such as `mails`. */
  readonly unit: string
  /** The senders, ours first. */
  readonly senders: readonly SendingServer[]
  /** The file of the server that accepts everything, in a process of its own on loopback. */
  readonly sink: URL
  /** The setup of every sender, in addition to the port of the sink. */
  readonly setup?: Readonly<Record<string, unknown>>
  readonly warmUps: number
  readonly rounds: number
  /** The number of items that one order sends. */
  readonly count: number
  /** Returns an order that was never given before. */
  nextOrder(): unknown
}

interface Cost {
  readonly perSecond: number
  /** The CPU time of one sent item, µs. */
  readonly cpuMicros: number
}

/** Measures the senders by turns, each with orders of its own. */
export async function raceSenders(race: SenderRace, { cores, progress }: ProbeOptions): Promise<readonly Figure[]> {
  const { senders, warmUps, rounds } = race
  await using servers = new AsyncDisposableStack()
  const sink = servers.use(await startServer({ entry: race.sink, setup: {}, core: cores?.load }))
  const running: ServerProcess[] = []
  for (const { entry, extraSetup, nodeFlags } of senders) {
    const setup = { ...race.setup, ...extraSetup, port: sink.port }
    running.push(servers.use(await startServer({ entry, setup, nodeFlags, core: cores?.server })))
  }
  const turns = { title: race.title.toLowerCase(), rounds, progress }
  const costs = await measureInterleaved(running, turns, async (server, round) => {
    for (let count = 1; round === 0 && count < warmUps; count++) await sendOrder(server, sink, race)
    return sendOrder(server, sink, race)
  })
  return senders.map((sender, index) => toFigure(race, sender, costs[index] ?? [], index > 0 ? costs[0] : undefined))
}

async function sendOrder(
  server: ServerProcess,
  sink: ServerProcess,
  { unit, count, nextOrder }: SenderRace,
): Promise<Cost> {
  const arrivedBefore = (await sink.sample()).handled
  const sampleBefore = await server.sample()
  const startedAt = performance.now()
  await server.work(nextOrder())
  const seconds = (performance.now() - startedAt) / 1000
  const { cpu } = await settleServer(server, sampleBefore.handled + count)
  const arrived = (await sink.sample()).handled - arrivedBefore
  if (arrived !== count) throw new Error(`${arrived} of ${count} ${unit} arrived`)
  return { perSecond: count / seconds, cpuMicros: (cpu - sampleBefore.cpu) / count }
}

function toFigure(
  { title, unit }: SenderRace,
  { name, note, row, aim }: SendingServer,
  costs: readonly Cost[],
  referenceCosts: readonly Cost[] | undefined,
): Figure {
  const cpuOf = ({ cpuMicros }: Cost) => cpuMicros
  const cpu = median(costs.map(cpuOf)).toFixed(0)
  const cpuRatio = referenceCosts ? `, ${medianRatio(costs, referenceCosts, cpuOf).toFixed(2)} times ours` : ''
  return {
    case: title,
    name,
    note: `${note}; ${cpu} µs of CPU time each${cpuRatio}`,
    value: median(costs.map(({ perSecond }) => perSecond)),
    unit: `${unit}/s`,
    ...(referenceCosts && {
      referenceValue: median(referenceCosts.map(({ perSecond }) => perSecond)),
      ratio: medianRatio(referenceCosts, costs, ({ perSecond }) => perSecond),
      ratioLabel: 'ours ÷ it',
    }),
    ...(row && { row }),
    ...(aim && { aim }),
  }
}
