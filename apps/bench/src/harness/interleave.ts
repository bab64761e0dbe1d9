// Measures several things in turns, every other round in reverse order, to spread the noise of the machine.
interface InterleaveOptions {
  /** The prefix of the progress messages. */
  readonly title: string
  readonly rounds: number
  progress(text: string): void
}

/**
 * Measures items by turns, every other round in reverse: A B C, C B A, A B C, … so that other work on the machine, and the effects of a round, affect
 * all of them alike. Round 0 only warms up.
 * @returns the results of the other rounds, for each item
 */
export async function measureInterleaved<Item, Result>(
  items: readonly Item[],
  { title, rounds, progress }: InterleaveOptions,
  measure: (item: Item, round: number) => Promise<Result>,
): Promise<readonly (readonly Result[])[]> {
  const measured = items.map(item => ({ item, results: [] as Result[] }))
  for (let round = 0; round <= rounds; round++) {
    progress(`${title}: ${round === 0 ? 'warming up' : `round ${round} of ${rounds}`}`)
    for (const { item, results } of round % 2 === 0 ? measured : measured.toReversed()) {
      const result = await measure(item, round)
      if (round > 0) results.push(result)
    }
  }
  return measured.map(({ results }) => results)
}
