// Prepares statements for several rows at a time, because one statement for four rows costs little more than for one.
/** The maximum number of rows of one statement. Most writes have two to six rows. */
const maxRowsPerStatement = 6

/** Prepares a statement for each number of rows. @returns a function that runs `run` with as few of these statements as possible */
export function prepareForRows<Statement, Row>(
  prepare: (rowCount: number) => Statement,
): (rows: readonly Row[], run: (statement: Statement, rows: readonly Row[]) => void) => void {
  const statements = Array.from({ length: maxRowsPerStatement }, (_, index) => prepare(index + 1))
  return (rows, run) => {
    for (let start = 0; start < rows.length; start += maxRowsPerStatement) {
      const slice = rows.slice(start, start + maxRowsPerStatement)
      const statement = statements[slice.length - 1]
      if (statement) run(statement, slice)
    }
  }
}

/** Formats the SQL of several rows, such as `(?, ?), (?, ?)`. */
export function repeatRow(row: string, rowCount: number): string {
  return `, ${row}`.repeat(rowCount).slice(2)
}
