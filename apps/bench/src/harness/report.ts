import type { Line } from './summary.ts'

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
    formatMicros(cpuMicros),
    besideMicros === undefined ? '' : formatMicros(besideMicros),
    ratio === undefined ? 'ours' : `${ratio.toFixed(2)}×`,
    aim === undefined || ratio === undefined ? '' : `≥ ${aim}× ${ratio >= aim ? 'met' : 'missed'}`,
    p99.toFixed(1),
    (rss / 1e6).toFixed(0),
  ]
}

function formatMicros(value: number): string {
  return value.toFixed(value < 100 ? 1 : 0)
}

/** Text left, figures right. */
export function formatColumns(rows: readonly (readonly string[])[], textColumns = 2): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  const pad = (cell: string, column: number) =>
    column < textColumns ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)
  return rows.map(row => row.map(pad).join('  ').trimEnd()).join('\n')
}
