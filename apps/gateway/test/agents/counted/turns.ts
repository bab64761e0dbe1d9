let turns = 0

/** Counts a turn of an agent of this folder, for the test that watches the process. */
export function countTurn(): void {
  turns += 1
}

export function readTurnCount(): number {
  return turns
}
