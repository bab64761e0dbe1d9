// Runs turns that begin within the transaction of their messages.
import type { Batch, WriteOperation } from './batch.ts'

/** The maximum number of turns that begin within one transaction, so that their agents do not stop the event loop for long. */
const maxContinuedTurns = 64

/**
 * Begins the turns of a transaction and calls `onDone` when all microtasks have run. Timers, sockets and other requests wait until that moment, so no
 * other code runs while the transaction is open.
 */
export function continueTurns(batch: Batch, onDone: () => void): void {
  const turns = batch.continuations
  for (const turn of turns.slice(0, maxContinuedTurns)) turn.begin(batch)
  for (const turn of turns.slice(maxContinuedTurns)) turn.beginLater(batch)
  // A tick that a microtask requests runs when no microtask is left.
  queueMicrotask(() => process.nextTick(onDone))
}

/** Takes the answers of the turns that have ended within the transaction. */
export function takeAnswers({ continuations }: Batch): readonly WriteOperation<void>[] {
  return continuations.map(turn => turn.takeAnswer()).filter(answer => answer !== undefined)
}
