/** One row of a CSV file (RFC 4180), and the line it begins on. */
export interface CsvRow {
  readonly line: number
  readonly cells: readonly string[]
}

const cellPattern = /(?:"((?:[^"]|"")*)"|((?!")[^,\r\n]*))(,|\r\n|\n|\r|$)/y

/** Quoted cells may hold commas, quotes and line breaks. `brokenAt` is the line of a quote that does not end where a cell does. */
export function parseCsv(text: string): readonly CsvRow[] | { readonly brokenAt: number } {
  const rows: CsvRow[] = []
  let cells: string[] = []
  let line = 1
  let start = 1
  let at = 0
  while (at < text.length || cells.length > 0) {
    cellPattern.lastIndex = at
    const match = cellPattern.exec(text)
    if (!match) return { brokenAt: line }
    const [all, quoted, plain = '', end] = match
    cells.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    line += all.match(/\r\n|\n|\r/g)?.length ?? 0
    at += all.length
    if (end === ',') continue
    rows.push({ line: start, cells })
    cells = []
    start = line
  }
  return rows
}
