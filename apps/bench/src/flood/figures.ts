// Computes the figures of a flood from its rounds.
import type { Aim } from '../aims/rows.ts'
import { median } from '../harness/statistics.ts'
import type { Figure } from '../harness/tables/figure.ts'
import type { FloodResult } from './flooder.ts'
import type { FloodPlan } from './floods.ts'
import { floods } from './floods.ts'
import type { HonestLatencies } from './honest.ts'

/** The results of one round. */
export interface FloodRound {
  /** The times of honest deliveries without a flood. */
  readonly alone: HonestLatencies
  /** The CPU time of an accepted post, µs. */
  readonly acceptedMicros: number
  /** The results with each flood, in the order of `floods`. */
  readonly withFloods: readonly FloodedRound[]
}

/** The results of one round with one flood. */
export interface FloodedRound extends FloodResult {
  readonly honest: HonestLatencies
  /** The CPU time of one refused post, µs. */
  readonly refusedMicros: number
}

const title = 'Flood'

/** Computes all figures, with each ratio computed within a round. @param honest honest deliveries per second */
export function toFloodFigures(rounds: readonly FloodRound[], honest: number): readonly Figure[] {
  return [
    {
      case: title,
      name: 'Honest p99 in the server, alone',
      note: `verified, durable, through an agent; ${honest} a second, a tenth of the top rate; ${describeTimes(rounds.map(round => round.alone))}`,
      value: median(rounds.map(({ alone }) => alone.serverP99Ms)),
      unit: 'ms',
    },
    {
      case: title,
      name: 'CPU of an accepted post',
      note: 'as many as the gateway takes, without a flood',
      value: median(rounds.map(({ acceptedMicros }) => acceptedMicros)),
      unit: 'µs',
    },
    ...floods.flatMap((flood, index) => {
      const comparedFloods = rounds.flatMap(round => {
        const comparedFlood = round.withFloods[index]
        return comparedFlood ? [{ ...comparedFlood, alone: round.alone, acceptedMicros: round.acceptedMicros }] : []
      })
      return [toLatency(flood, comparedFloods, honest), toCost(flood, comparedFloods)]
    }),
  ]
}

type ComparedFlood = FloodedRound & Omit<FloodRound, 'withFloods'>

function toLatency({ p99 }: FloodPlan, rounds: readonly ComparedFlood[], honest: number): Figure {
  const rate = median(rounds.map(({ perSecond }) => perSecond))
  const statuses = [...new Set(rounds.flatMap(round => Object.keys(round.statuses)))].join(', ')
  const flood = `${Math.round(rate)} posts a second (${(rate / honest).toFixed(1)} times the honest ones) from another process, no limit in their way; answered with ${statuses}`
  return {
    ...compare(p99, rounds, ({ honest, alone }) => [honest.serverP99Ms, alone.serverP99Ms]),
    note: `${flood}; ${describeTimes(rounds.map(round => round.honest))}`,
    unit: 'ms',
    ratioLabel: '÷ alone',
  }
}

function toCost({ cost }: FloodPlan, rounds: readonly ComparedFlood[]): Figure {
  return {
    ...compare(cost, rounds, ({ refusedMicros, acceptedMicros }) => [refusedMicros, acceptedMicros]),
    note: 'CPU time of the gateway for each post of the flood; no honest traffic at the same time',
    unit: 'µs',
    ratioLabel: '÷ accepted',
  }
}

function compare(
  aim: Aim,
  rounds: readonly ComparedFlood[],
  pick: (round: ComparedFlood) => readonly [value: number, reference: number],
) {
  const pairs = rounds.map(pick)
  return {
    ...aim,
    case: title,
    name: aim.row,
    value: median(pairs.map(([floodValue]) => floodValue)),
    referenceValue: median(pairs.map(([, reference]) => reference)),
    ratio: median(pairs.map(([floodValue, reference]) => floodValue / reference)),
  }
}

function describeTimes(times: readonly HonestLatencies[]): string {
  const [atClient, loopDelay] = [
    median(times.map(honestTimes => honestTimes.clientP99Ms)),
    median(times.map(responseTimes => responseTimes.loopDelayP99Ms)),
  ]
  return `p99 at the client ${atClient.toFixed(1)} ms, of the delay of the event loop ${loopDelay.toFixed(1)} ms`
}
