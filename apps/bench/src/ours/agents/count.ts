let turns = 0

/** The bench's agents count their turns here, so that the server child can tell how far the gateway has come. */
export function countTurn(): void {
  turns++
}

export function readTurns(): number {
  return turns
}
