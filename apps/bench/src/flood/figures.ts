// Computes the figures of a flood from its rounds.
import type { Aim } from '../aims/rows.ts'
import { median } from '../harness/statistics.ts'
import type { Figure } from '../harness/tables/figure.ts'
import type { FloodResult } from './flooder.ts'
import type { FloodPlan } from './floods.ts'
import { floods } from './floods.ts'
import type { HonestTimes } from './honest.ts'

/** The results of one round. */
export interface FloodRound {
  /** The times of honest deliveries without a flood. */
  readonly alone: HonestTimes
  /** The CPU time of an accepted post, µs. */
  readonly acceptedMicros: number
  /** The results with each flood, in the order of `floods`. */
  readonly beside: readonly BesideFlood[]
}

/** The results of one round with one flood. */
export interface BesideFlood extends FloodResult {
  readonly honest: HonestTimes
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
      value: median(rounds.map(({ alone }) => alone.inServer)),
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
        const comparedFlood = round.beside[index]
        return comparedFlood ? [{ ...comparedFlood, alone: round.alone, acceptedMicros: round.acceptedMicros }] : []
      })
      return [toLatency(flood, comparedFloods, honest), toCost(flood, comparedFloods)]
    }),
  ]
}

type ComparedFlood = BesideFlood & Omit<FloodRound, 'beside'>

function toLatency({ p99 }: FloodPlan, rounds: readonly ComparedFlood[], honest: number): Figure {
  const rate = median(rounds.map(({ perSecond }) => perSecond))
  const statuses = [...new Set(rounds.flatMap(round => Object.keys(round.statuses)))].join(', ')
  const flood = `${Math.round(rate)} posts a second (${(rate / honest).toFixed(1)} times the honest ones) from another process, no limit in their way; answered with ${statuses}`
  return {
    ...compare(p99, rounds, ({ honest, alone }) => [honest.inServer, alone.inServer]),
    note: `${flood}; ${describeTimes(rounds.map(round => round.honest))}`,
    unit: 'ms',
    against: '÷ alone',
  }
}

function toCost({ cost }: FloodPlan, rounds: readonly ComparedFlood[]): Figure {
  return {
    ...compare(cost, rounds, ({ refusedMicros, acceptedMicros }) => [refusedMicros, acceptedMicros]),
    note: 'CPU time of the gateway for each post of the flood; no honest traffic beside it',
    unit: 'µs',
    against: '÷ accepted',
  }
}

function compare(
  aim: Aim,
  rounds: readonly ComparedFlood[],
  pick: (round: ComparedFlood) => readonly [own: number, beside: number],
) {
  const pairs = rounds.map(pick)
  return {
    ...aim,
    case: title,
    name: aim.row,
    value: median(pairs.map(([floodValue]) => floodValue)),
    baselineValue: median(pairs.map(([, beside]) => beside)),
    ratio: median(pairs.map(([floodValue, beside]) => floodValue / beside)),
  }
}

function describeTimes(times: readonly HonestTimes[]): string {
  const [atClient, loopDelay] = [
    median(times.map(honestTimes => honestTimes.atClient)),
    median(times.map(each => each.loopDelay)),
  ]
  return `p99 at the client ${atClient.toFixed(1)} ms, of the delay of the event loop ${loopDelay.toFixed(1)} ms`
}
