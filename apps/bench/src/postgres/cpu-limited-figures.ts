// Computes the figures of gateways that are held to a share of a core.
import { rows } from '../aims/rows.ts'
import { median, medianRatio } from '../harness/statistics.ts'
import type { Figure } from '../harness/tables/figure.ts'
import type { PostgresPlan } from './gateways.ts'

/** One round of one plan. */
export interface LimitedRound {
  /** The calls per second of all gateways. */
  readonly perSecond: number
  /** The CPU time of the database for one call, µs. */
  readonly databaseMicros: number
  /** The share of a core that each gateway has used, 0–1. */
  readonly share: number
}

const title = 'PostgreSQL, gateways held to 20 % of a core each'

/** Computes the rates, their ratios to one gateway, and the calls that one core of the database carries. */
export function toLimitedFigures(
  plans: readonly PostgresPlan[],
  rounds: readonly (readonly LimitedRound[])[],
): readonly Figure[] {
  const rateOf = ({ perSecond }: LimitedRound) => perSecond
  const figures = plans.map(({ name, row, aim, referenceName }, index): Figure => {
    const planRounds = rounds[index] ?? []
    const baselineRounds = rounds[plans.findIndex(plan => plan.name === referenceName)]
    return {
      case: title,
      name: row ?? name,
      note: `A2A calls, answered by an agent, durable; ${name}, ${describeRounds(planRounds)}`,
      value: median(planRounds.map(rateOf)),
      unit: 'calls/s',
      ...(baselineRounds && {
        referenceValue: median(baselineRounds.map(rateOf)),
        ratio: medianRatio(planRounds, baselineRounds, rateOf),
        ratioLabel: `÷ ${referenceName}`,
      }),
      ...(row && { row }),
      ...(aim && { aim }),
    }
  })
  return [...figures, toDatabaseCore(rounds.at(-1) ?? [])]
}

/** Computes the calls that a core of the database carries from the cost of one, because gateways this slow leave that core idle at times. */
function toDatabaseCore(rounds: readonly LimitedRound[]): Figure {
  return {
    ...rows.databaseCore,
    case: title,
    name: rows.databaseCore.row,
    note: 'a second of CPU time divided by the CPU time that a call of the four gateways costs the database',
    value: median(rounds.map(({ databaseMicros }) => 1e6 / databaseMicros)),
    unit: 'calls/s',
  }
}

function describeRounds(rounds: readonly LimitedRound[]): string {
  const [share, micros] = [median(rounds.map(round => round.share)), median(rounds.map(round => round.databaseMicros))]
  return `each used ${(100 * share).toFixed(0)} % of a core; ${micros.toFixed(0)} µs of CPU time of the database a call`
}
