// Counts the turns of the agents in this folder, for the test that watches the process.
let turns = 0

export function countTurn(): void {
  turns += 1
}

export function readTurnCount(): number {
  return turns
}
