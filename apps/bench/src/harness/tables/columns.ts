// Lays a table out in columns of text.
import type { SummaryRow } from './summary.ts'

/** Formats a table that prints a case's title only in its first row, followed by a legend and the note of each row. */
export function formatCases<Row extends Pick<SummaryRow, 'case' | 'name' | 'note'>>(
  headings: readonly string[],
  lines: readonly Row[],
  formatCells: (row: Row) => readonly string[],
  legend: readonly string[],
): string {
  const titles = lines.map(({ case: title }, index) => (title === lines[index - 1]?.case ? '' : title))
  const rows = lines.map((row, index) => [titles[index] ?? '', row.name, ...formatCells(row)])
  const notes = lines.map(({ case: title, name, note }) => `  ${title}, ${name}: ${note}`)
  return [formatColumns([headings, ...rows]), '', ...legend, ...notes].join('\n')
}

export function formatValue(value: number): string {
  return value.toFixed(value < 100 ? 1 : 0)
}

/** Aligns text to the left and figures to the right. */
export function formatColumns(rows: readonly (readonly string[])[], textColumns = 2): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  const pad = (cell: string, column: number) =>
    column < textColumns ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)
  return rows.map(row => row.map(pad).join('  ').trimEnd()).join('\n')
}
