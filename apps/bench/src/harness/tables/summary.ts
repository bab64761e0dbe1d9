// Summarizes the rounds of a bench case: a line for each server.
import type { Aim } from '../../aims/rows.ts'
import type { RoundResult } from '../measure.ts'
import type { CaseResults, Contender } from '../rounds.ts'
import { median, medianRatio } from '../statistics.ts'

/** One line of the table: the medians over the rounds, except `rss`, which is the maximum, and `messages`, which is the sum. */
export interface SummaryRow extends Omit<RoundResult, 'perSecond'>, Partial<Aim> {
  readonly case: string
  readonly name: string
  readonly note: string
  /** The CPU time per message divided by that of the contender `referenceName`; absent for the first contender. */
  readonly ratio?: number | undefined
  readonly referenceName?: string | undefined
  /** The CPU time per message of the contender `referenceName`, the median over the rounds, µs. */
  readonly referenceMicros?: number | undefined
}

/** Summarizes the rounds of each contender. A ratio is computed within each round, and the line has the median of these ratios. */
export function summarizeCase(title: string, results: CaseResults): readonly SummaryRow[] {
  const contenders = [...results.keys()]
  return contenders.map((contender, index) => {
    const rounds = results.get(contender) ?? []
    const reference = contenders.find(({ name }) => name === contender.referenceName) ?? contenders[0]
    return {
      case: title,
      name: contender.name,
      note: contender.note,
      ...summarizeRounds(rounds),
      ...(index > 0 && reference && compareRounds(contender, rounds, reference, results.get(reference) ?? [])),
    }
  })
}

function summarizeRounds(rounds: readonly RoundResult[]): Omit<RoundResult, 'perSecond'> {
  return {
    cpuMicros: median(rounds.map(({ cpuMicros }) => cpuMicros)),
    p99: median(rounds.map(({ p99 }) => p99)),
    rss: Math.max(...rounds.map(({ rss }) => rss)),
    messages: rounds.reduce((sum, { messages }) => sum + messages, 0),
  }
}

function compareRounds(
  { row, aim }: Contender,
  rounds: readonly RoundResult[],
  reference: Contender,
  referenceRounds: readonly RoundResult[],
): Pick<SummaryRow, 'ratio' | 'referenceName' | 'referenceMicros' | keyof Aim> {
  const cpuOf = ({ cpuMicros }: RoundResult) => cpuMicros
  const referenceMicros = median(referenceRounds.map(cpuOf))
  const ratio = medianRatio(rounds, referenceRounds, cpuOf)
  return { ratio, referenceName: reference.name, referenceMicros, ...(row && { row }), ...(aim && { aim }) }
}
