import type { Contender } from './case.ts'
import type { RoundResult } from './measure.ts'
import { median } from './median.ts'
import type { CaseResults } from './rounds.ts'

/** One line of the table. */
export interface Line {
  readonly case: string
  readonly name: string
  readonly note: string
  /** Medians over the rounds. */
  readonly cpuMicros: number
  readonly p99: number
  /** Highest seen, bytes. */
  readonly rss: number
  readonly messages: number
  /** Messages ours handles in the CPU time in which this one handles one; absent for ours itself. */
  readonly ratio?: number | undefined
  readonly against?: string | undefined
  /** CPU time per message of the one it is compared with, the median over the rounds, µs. */
  readonly besideMicros?: number | undefined
  readonly aim?: number | undefined
}

/** Compares by rounds: each ratio is taken within one round, and the median of those counts. */
export function summarizeCase(title: string, results: CaseResults): readonly Line[] {
  const contenders = [...results.keys()]
  return contenders.map((contender, index) => {
    const rounds = results.get(contender) ?? []
    const reference = contenders.find(({ name }) => name === contender.against) ?? contenders[0]
    return {
      case: title,
      name: contender.name,
      note: contender.note,
      ...summarizeRounds(rounds),
      ...(index > 0 && reference && compareRounds(contender, rounds, reference, results.get(reference) ?? [])),
    }
  })
}

function summarizeRounds(rounds: readonly RoundResult[]): Pick<Line, 'cpuMicros' | 'p99' | 'rss' | 'messages'> {
  return {
    cpuMicros: median(rounds.map(({ cpuMicros }) => cpuMicros)),
    p99: median(rounds.map(({ p99 }) => p99)),
    rss: Math.max(...rounds.map(({ rss }) => rss)),
    messages: rounds.reduce((sum, { messages }) => sum + messages, 0),
  }
}

function compareRounds(
  { aim }: Contender,
  rounds: readonly RoundResult[],
  reference: Contender,
  referenceRounds: readonly RoundResult[],
): Pick<Line, 'ratio' | 'against' | 'besideMicros' | 'aim'> {
  const ratios = rounds.map(({ cpuMicros }, round) => cpuMicros / (referenceRounds[round]?.cpuMicros ?? Number.NaN))
  const besideMicros = median(referenceRounds.map(({ cpuMicros }) => cpuMicros))
  return { ratio: median(ratios), against: reference.name, besideMicros, aim }
}
