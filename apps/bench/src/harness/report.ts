import type { Line } from './summary.ts'

const headings = ['case', 'server', 'CPU µs/msg', 'ratio', 'aim', 'p99 ms', 'RSS MB']

/** The table as a person reads it, with what its columns mean. */
export function formatReport(lines: readonly Line[]): string {
  const rows = lines.map((line, index) => formatLine(line, lines[index - 1]?.case))
  const notes = lines.map(({ case: title, name, note }) => `  ${title}, ${name}: ${note}`)
  return [formatColumns([headings, ...rows]), '', ...legend, '', 'Who does what:', ...notes].join('\n')
}

const legend = [
  'CPU µs/msg  CPU time of the server process per message, all threads, everything it still does after its answer',
  'ratio       messages Postern handles in the CPU time in which this server handles one: above 1 Postern is cheaper',
  'p99 ms      latency at 30 % of the server’s own top rate',
  'Only the ratios mean something beyond this machine.',
]

function formatLine({ case: title, name, cpuMicros, ratio, aim, p99, rss }: Line, above: string | undefined): string[] {
  return [
    title === above ? '' : title,
    name,
    cpuMicros.toFixed(cpuMicros < 100 ? 1 : 0),
    ratio === undefined ? 'ours' : `${ratio.toFixed(2)}×`,
    aim === undefined || ratio === undefined ? '' : `≥ ${aim}× ${ratio >= aim ? 'met' : 'missed'}`,
    p99.toFixed(1),
    (rss / 1e6).toFixed(0),
  ]
}

/** Text left, figures right. */
export function formatColumns(rows: readonly (readonly string[])[], textColumns = 2): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  const pad = (cell: string, column: number) =>
    column < textColumns ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)
  return rows.map(row => row.map(pad).join('  ').trimEnd()).join('\n')
}
