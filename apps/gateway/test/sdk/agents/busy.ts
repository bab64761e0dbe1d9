import { defineAgent, Unavailable } from '../../../src/index.ts'

const tries: number[] = []

/** Asks to be called again the first two times, and then reports how long it was left alone. */
export default defineAgent({
  handle() {
    tries.push(Date.now())
    if (tries.length < 3) throw new Unavailable('The orders do not answer', { retryAfter: 2 })
    return tries.map((at, index) => (index === 0 ? 0 : Math.round((at - (tries[index - 1] ?? at)) / 1_000))).join(', ')
  },
})
