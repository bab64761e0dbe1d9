// Formats the scores of foreign suites.
/** The outcome of one case of a suite. */
export interface ScoredCase {
  readonly name: string
  readonly isRight: boolean
  readonly note?: string | undefined
  /** True if the case is right because it was refused. */
  readonly isRefused?: true
}

/** Prints one line for the suite, and one for every case with a different result. */
export function printScore(title: string, cases: readonly ScoredCase[]): void {
  sayLine(`${title}: ${formatScore(cases)}`)
  for (const { name, note } of cases.filter(({ isRight }) => !isRight)) sayLine(`  ${name}${note ? `: ${note}` : ''}`)
}

/** Formats the score, such as `203 of 203`, with the number of right cases that were refused. */
export function formatScore(cases: readonly ScoredCase[]): string {
  const right = cases.filter(({ isRight }) => isRight)
  const refused = right.filter(({ isRefused }) => isRefused).length
  return `${right.length} of ${cases.length}${refused > 0 ? `, ${refused} of them refused` : ''}`
}

export function sayLine(text: string): void {
  process.stdout.write(`${text}\n`)
}
