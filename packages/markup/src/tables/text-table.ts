// Writes tables as text with even columns, for readers with a monospaced font.
import stringWidth from 'string-width'

/** The alignment of the cells of a column. */
export type ColumnAlign = 'left' | 'right' | 'center'

/** The gap between two columns. */
const gap = '  '

/** Returns rows as lines. Each column is as wide on a screen as its widest cell (UAX #11), and no line ends with blanks. */
export function writeTextTable(rows: readonly (readonly string[])[], aligns: readonly ColumnAlign[] = []): string {
  const cleanRows = rows.map(row => row.map(cell => cell.replace(/\s+/g, ' ').trim()))
  const columnCount = Math.max(0, ...cleanRows.map(row => row.length))
  const widths = Array.from({ length: columnCount }, (_, column) =>
    Math.max(0, ...cleanRows.map(row => stringWidth(row[column] ?? ''))),
  )
  const write = (row: readonly string[]) =>
    widths.map((width, column) => padCell(row[column] ?? '', width, aligns[column] ?? 'left')).join(gap)
  return cleanRows.map(row => write(row).trimEnd()).join('\n')
}

/** Pads a cell to the width of its column. */
export function padCell(text: string, width: number, align: ColumnAlign = 'left'): string {
  const padding = Math.max(0, width - stringWidth(text))
  if (align === 'right') return ' '.repeat(padding) + text
  const leftPadding = align === 'center' ? Math.floor(padding / 2) : 0
  return ' '.repeat(leftPadding) + text + ' '.repeat(padding - leftPadding)
}
