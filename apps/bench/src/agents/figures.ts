// Computes the figures of gateways with few and with very many agents.
import type { Aim } from '../aims/rows.ts'
import { rows } from '../aims/rows.ts'
import { median, medianRatio } from '../harness/statistics.ts'
import type { Figure } from '../harness/tables/figure.ts'
import type { Usage } from '../servers/process-usage.ts'

/** A gateway that has just begun to listen, with the resources that it has used by then. */
export interface ListeningGateway extends Usage {
  /** The time from spawn to listening, ms. */
  readonly startMs: number
}

/** The measurements of one number of agents. */
export interface AgentReadings {
  readonly agents: number
  /** The readings of each start. */
  readonly startedGateways: readonly ListeningGateway[]
  /** The CPU time of a call in each round, µs. */
  readonly calls: readonly number[]
}

/** The number of agents in the rows of the aims. */
const agentsOfRows = 100_000

/** Computes the figures of each number of agents, compared with those of the first number. */
export function toAgentFigures(readings: readonly AgentReadings[]): readonly Figure[] {
  const [first] = readings
  return readings.flatMap((reading, index) => toFigures(reading, index === 0 ? undefined : first))
}

function toFigures(
  { agents, startedGateways, calls }: AgentReadings,
  first: AgentReadings | undefined,
): readonly Figure[] {
  const startOf = ({ startMs }: ListeningGateway) => startMs / 1_000
  const memoryOf = ({ rssBytes }: ListeningGateway) => rssBytes / 1e6
  const micros = (callMicros: number) => callMicros
  const title = { case: 'Agents' }
  const name = (measure: string, { row }: Aim) => ({
    name: agents === agentsOfRows ? row : `${measure}, ${agents} agents`,
    ...(agents === agentsOfRows && { row }),
  })
  return [
    {
      ...title,
      ...name('start', rows.agentsStart),
      note: `the npm package, from spawn to listening; all agents in one configuration file; ${(median(startedGateways.map(({ cpuMs }) => cpuMs)) / 1_000).toFixed(1)} s of CPU time`,
      value: median(startedGateways.map(startOf)),
      unit: 's',
      ...(first && { referenceValue: median(first.startedGateways.map(startOf)) }),
    },
    {
      ...title,
      ...name('memory', rows.agentsMemory),
      note: 'RSS when it begins to listen',
      value: median(startedGateways.map(memoryOf)),
      unit: 'MB',
      ...(first && { referenceValue: median(first.startedGateways.map(memoryOf)) }),
    },
    {
      ...title,
      ...name('cost of a call', rows.agentsCall),
      note: 'an A2A call, answered by an agent, durable; the calls go to agents all over the list',
      value: median(calls),
      unit: 'µs CPU',
      ...(first && {
        referenceValue: median(first.calls),
        ratio: medianRatio(calls, first.calls, micros),
        ratioLabel: `÷ at ${first.agents}`,
      }),
    },
  ]
}
