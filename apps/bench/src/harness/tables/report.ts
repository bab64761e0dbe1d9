// Formats the lines of bench cases as a table.
import { formatVerdict } from '../../aims/bound.ts'
import { formatCases, formatValue } from './columns.ts'
import type { SummaryRow } from './summary.ts'

const headings = ['case', 'server', 'CPU µs/msg', 'reference', 'ratio', 'aim', 'p99 ms', 'RSS MB']

/** Formats the table for a person, with the meaning of its columns. */
export function formatReport(lines: readonly SummaryRow[]): string {
  return formatCases(headings, lines, formatLine, [...legend, '', 'Who does what:'])
}

const legend = [
  'CPU µs/msg  CPU time of the server process per message, all threads, everything it still does after its answer',
  'reference   the same of the server it is compared with: Postern, the first line of the case unless the notes say otherwise',
  'ratio       messages Postern handles in the CPU time in which this server handles one: above 1 Postern is cheaper',
  'p99 ms      latency at 30 % of the server’s own top rate',
  'Only the ratios mean something beyond this machine.',
]

function formatLine({ cpuMicros, referenceMicros, ratio, aim, p99, rss }: SummaryRow): readonly string[] {
  return [
    formatValue(cpuMicros),
    referenceMicros === undefined ? '' : formatValue(referenceMicros),
    ratio === undefined ? 'ours' : `${ratio.toFixed(2)}×`,
    aim === undefined || ratio === undefined ? '' : formatVerdict(aim, ratio),
    p99.toFixed(1),
    (rss / 1e6).toFixed(0),
  ]
}
