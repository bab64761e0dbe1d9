/** How one case of a suite came out. */
export interface Scored {
  readonly name: string
  readonly isRight: boolean
  readonly note?: string | undefined
  /** Right, because it was refused. */
  readonly isRefused?: true
}

/** One line for the suite, and one for every case that came out otherwise. */
export function printScore(title: string, cases: readonly Scored[]): void {
  sayLine(`${title}: ${formatScore(cases)}`)
  for (const { name, note } of cases.filter(({ isRight }) => !isRight)) sayLine(`  ${name}${note ? `: ${note}` : ''}`)
}

/** `203 of 203`, and how many of the right ones were refused. */
export function formatScore(cases: readonly Scored[]): string {
  const right = cases.filter(({ isRight }) => isRight)
  const refused = right.filter(({ isRefused }) => isRefused).length
  return `${right.length} of ${cases.length}${refused > 0 ? `, ${refused} of them refused` : ''}`
}

export function sayLine(text: string): void {
  process.stdout.write(`${text}\n`)
}
