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
  const wrong = cases.filter(({ isRight }) => !isRight)
  const refused = cases.filter(({ isRefused, isRight }) => isRefused && isRight).length
  const more = refused > 0 ? `, ${refused} of them refused` : ''
  sayLine(`${title}: ${cases.length - wrong.length} of ${cases.length}${more}`)
  for (const { name, note } of wrong) sayLine(`  ${name}${note ? `: ${note}` : ''}`)
}

export function sayLine(text: string): void {
  process.stdout.write(`${text}\n`)
}
