import type { FairClock } from './fair-clock.ts'
import { sleep, timeAnswer } from './fair-clock.ts'

const everyMs = 100
/** No answer for longer than this is a stall, ms. */
const stallMs = 2_000

/** Asks `/healthz` from outside, ten times a second; tells once of each time of silence. Ends with the signal. */
export async function watchStalls(
  port: number,
  clock: FairClock,
  tell: (begun: number) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const answered = new AbortController()
    const asking = timeAnswer(port)
      .catch(() => 0)
      .finally(() => answered.abort())
    const begun = Date.now()
    clock.expire(stallMs, AbortSignal.any([answered.signal, signal])).catch(() => {
      if (!answered.signal.aborted && !signal.aborted) tell(begun)
    })
    await asking
    await sleep(everyMs)
  }
}
