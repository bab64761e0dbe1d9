// Asks to be called again twice, and then reports the pauses between the calls.
import { defineAgent, Unavailable } from '../../../src/index.ts'

const tries: number[] = []

export default defineAgent({
  handle() {
    tries.push(Date.now())
    if (tries.length < 3) throw new Unavailable('The orders do not answer', { retryAfter: 2 })
    return tries
      .map((time, index) => (index === 0 ? 0 : Math.round((time - (tries[index - 1] ?? time)) / 1_000)))
      .join(', ')
  },
})
