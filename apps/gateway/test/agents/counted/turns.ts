let turns = 0

/** The agents of this folder count their turns here, for whoever watches their process. */
export function countTurn(): void {
  turns += 1
}

export function readTurnCount(): number {
  return turns
}
