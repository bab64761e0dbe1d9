import type { RoundResult } from './measure.ts'
import { median, medianRatio } from './measure.ts'
import type { CaseResults, Contender } from './rounds.ts'

const headings = ['case', 'server', 'CPU µs/msg', 'beside', 'ratio', 'aim', 'p99 ms', 'RSS MB']

/** The table as a person reads it, with what its columns mean. */
export function formatReport(lines: readonly Line[]): string {
  return formatCases(headings, lines, formatLine, [...legend, '', 'Who does what:'])
}

/** A table with a case's title at its first line only, some words, and the note of each line. */
export function formatCases<Row extends Pick<Line, 'case' | 'name' | 'note'>>(
  headings: readonly string[],
  lines: readonly Row[],
  formatCells: (line: Row) => readonly string[],
  words: readonly string[],
): string {
  const titles = lines.map(({ case: title }, index) => (title === lines[index - 1]?.case ? '' : title))
  const rows = lines.map((line, index) => [titles[index] ?? '', line.name, ...formatCells(line)])
  const notes = lines.map(({ case: title, name, note }) => `  ${title}, ${name}: ${note}`)
  return [formatColumns([headings, ...rows]), '', ...words, ...notes].join('\n')
}

const legend = [
  'CPU µs/msg  CPU time of the server process per message, all threads, everything it still does after its answer',
  'beside      the same of the server it is compared with: Postern, the first line of the case unless the notes say otherwise',
  'ratio       messages Postern handles in the CPU time in which this server handles one: above 1 Postern is cheaper',
  'p99 ms      latency at 30 % of the server’s own top rate',
  'Only the ratios mean something beyond this machine.',
]

function formatLine({ cpuMicros, besideMicros, ratio, aim, p99, rss }: Line): readonly string[] {
  return [
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

/** One line of the table: medians over the rounds, but for `rss`, the highest seen, and the sum of `messages`. */
export interface Line extends Omit<RoundResult, 'perSecond'> {
  readonly case: string
  readonly name: string
  readonly note: string
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

function summarizeRounds(rounds: readonly RoundResult[]): Omit<RoundResult, 'perSecond'> {
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
