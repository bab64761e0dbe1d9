import { setTimeout as sleep } from 'node:timers/promises'

/** What is said in a stream, piece by piece. */
export const pieces = ['At 21:40, ', 'and it takes ', 'bicycles.'] as const

/** Before each piece, ms: without a pause a server may put all of them into one. */
const pauseMs = 5

/** The pieces, as a model would say them. */
export async function* sayPieces(): AsyncGenerator<string> {
  for (const piece of pieces) {
    await sleep(pauseMs)
    yield piece
  }
}
