// Formats the scores of the test suites of other projects.
/** The outcome of one case of a suite. */
export interface ScoredCase {
  readonly name: string
  readonly hasPassed: boolean
  readonly note?: string | undefined
  /** True if the case is right because it was refused. */
  readonly isRefused?: true
}

/** Prints one line for the suite, and one line for every case with a different result. */
export function printScore(title: string, cases: readonly ScoredCase[]): void {
  printScoreLine(`${title}: ${formatScore(cases)}`)
  for (const { name, note } of cases.filter(({ hasPassed }) => !hasPassed))
    printScoreLine(`  ${name}${note ? `: ${note}` : ''}`)
}

/** Formats the score, such as `203 of 203`, with the number of right cases that were refused. */
export function formatScore(cases: readonly ScoredCase[]): string {
  const rightCases = cases.filter(({ hasPassed }) => hasPassed)
  const refusedCount = rightCases.filter(({ isRefused }) => isRefused).length
  return `${rightCases.length} of ${cases.length}${refusedCount > 0 ? `, ${refusedCount} of them refused` : ''}`
}

export function printScoreLine(text: string): void {
  process.stdout.write(`${text}\n`)
}
