/** How one case of a suite came out. */
export interface Scored {
  readonly name: string
  readonly isRight: boolean
  readonly note?: string | undefined
}

/** One line for the suite, and one for every case that came out otherwise. */
export function printScore(title: string, cases: readonly Scored[]): void {
  const wrong = cases.filter(({ isRight }) => !isRight)
  sayLine(`${title}: ${cases.length - wrong.length} of ${cases.length}`)
  for (const { name, note } of wrong) sayLine(`  ${name}${note ? `: ${note}` : ''}`)
}

export function sayLine(text: string): void {
  process.stdout.write(`${text}\n`)
}
