import type { RoundResult } from './measure.ts'
import { median, medianRatio } from './measure.ts'
import type { CaseResults, Contender } from './rounds.ts'

const headings = ['case', 'server', 'CPU µs/msg', 'beside', 'ratio', 'aim', 'p99 ms', 'RSS MB']

/** The table as a person reads it, with what its columns mean. */
export function formatReport(lines: readonly Line[]): string {
  const rows = lines.map((line, index) => formatLine(line, lines[index - 1]?.case))
  const notes = lines.map(({ case: title, name, note }) => `  ${title}, ${name}: ${note}`)
  return [formatColumns([headings, ...rows]), '', ...legend, '', 'Who does what:', ...notes].join('\n')
}

const legend = [
  'CPU µs/msg  CPU time of the server process per message, all threads, everything it still does after its answer',
  'beside      the same of the server it is compared with: Postern, the first line of the case unless the notes say otherwise',
  'ratio       messages Postern handles in the CPU time in which this server handles one: above 1 Postern is cheaper',
  'p99 ms      latency at 30 % of the server’s own top rate',
  'Only the ratios mean something beyond this machine.',
]

function formatLine(line: Line, above: string | undefined): string[] {
  const { case: title, name, cpuMicros, besideMicros, ratio, aim, p99, rss } = line
  return [
    title === above ? '' : title,
    name,
    formatValue(cpuMicros),
    besideMicros === undefined ? '' : formatValue(besideMicros),
    ratio === undefined ? 'ours' : `${ratio.toFixed(2)}×`,
    aim === undefined || ratio === undefined ? '' : `≥ ${aim}× ${ratio >= aim ? 'met' : 'missed'}`,
    p99.toFixed(1),
    (rss / 1e6).toFixed(0),
  ]
}

export function formatValue(value: number): string {
  return value.toFixed(value < 100 ? 1 : 0)
}

/** Text left, figures right. */
export function formatColumns(rows: readonly (readonly string[])[], textColumns = 2): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  const pad = (cell: string, column: number) =>
    column < textColumns ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)
  return rows.map(row => row.map(pad).join('  ').trimEnd()).join('\n')
}

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
  const cpuOf = ({ cpuMicros }: RoundResult) => cpuMicros
  const besideMicros = median(referenceRounds.map(cpuOf))
  return { ratio: medianRatio(rounds, referenceRounds, cpuOf), against: reference.name, besideMicros, aim }
}
