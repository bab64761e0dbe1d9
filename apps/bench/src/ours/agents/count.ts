// Counts the turns of the bench's agents.
let turns = 0

/** Counts a turn of a bench agent, so that the server child can tell how far the gateway has come. */
export function countTurn(): void {
  turns++
}

export function readTurns(): number {
  return turns
}
