// Computes the figures of gateways that are held to a share of a core.
import { rows } from '../aims/rows.ts'
import { median, medianRatio } from '../harness/median.ts'
import type { Figure } from '../harness/tables/figure.ts'
import type { PostgresPlan } from './gateways.ts'

/** One round of one plan. */
export interface HeldRound {
  /** The calls per second of all gateways. */
  readonly perSecond: number
  /** The CPU time of the database for one call, µs. */
  readonly databaseMicros: number
  /** The share of a core that each gateway has used, 0–1. */
  readonly share: number
}

const title = 'PostgreSQL, gateways held to 20 % of a core each'

/** Computes the rates, their ratios to one gateway, and the calls that one core of the database carries. */
export function toHeldFigures(
  plans: readonly PostgresPlan[],
  rounds: readonly (readonly HeldRound[])[],
): readonly Figure[] {
  const rateOf = ({ perSecond }: HeldRound) => perSecond
  const figures = plans.map(({ name, row, aim, against }, index): Figure => {
    const own = rounds[index] ?? []
    const beside = rounds[plans.findIndex(plan => plan.name === against)]
    return {
      case: title,
      name: row ?? name,
      note: `A2A calls, answered by an agent, durable; ${name}, ${describeRounds(own)}`,
      value: median(own.map(rateOf)),
      unit: 'calls/s',
      ...(beside && {
        beside: median(beside.map(rateOf)),
        ratio: medianRatio(own, beside, rateOf),
        against: `÷ ${against}`,
      }),
      ...(row && { row }),
      ...(aim && { aim }),
    }
  })
  return [...figures, toDatabaseCore(rounds.at(-1) ?? [])]
}

/** Computes the calls that a core of the database carries from the cost of one, because gateways this slow leave that core idle at times. */
function toDatabaseCore(rounds: readonly HeldRound[]): Figure {
  return {
    ...rows.databaseCore,
    case: title,
    name: rows.databaseCore.row,
    note: 'a second of CPU time divided by the CPU time that a call of the four gateways costs the database',
    value: median(rounds.map(({ databaseMicros }) => 1e6 / databaseMicros)),
    unit: 'calls/s',
  }
}

function describeRounds(rounds: readonly HeldRound[]): string {
  const [share, micros] = [median(rounds.map(each => each.share)), median(rounds.map(each => each.databaseMicros))]
  return `each used ${(100 * share).toFixed(0)} % of a core; ${micros.toFixed(0)} µs of CPU time of the database a call`
}
