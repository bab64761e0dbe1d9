// Defines the pieces of a streamed answer and yields them at the pace of a model.
import { setTimeout as sleep } from 'node:timers/promises'

/** The pieces of a streamed answer. */
export const pieces = ['At 21:40, ', 'and it takes ', 'bicycles.'] as const

/** Pause before each piece, ms: without a pause a server may put all of them into one. */
const pauseMs = 5

/** Yields the pieces at the pace of a model. */
export async function* sayPieces(): AsyncGenerator<string> {
  for (const text of pieces) {
    await sleep(pauseMs)
    yield text
  }
}
