import type { FuzzTarget } from '../target/open.ts'
import type { FairClock } from './fair-clock.ts'
import { sleep, timeAnswer } from './fair-clock.ts'

const everyMs = 100
/** No answer for longer than this is a stall, ms, where the main thread has worked for most of it. */
const stallMs = 2_000
const workingMs = 1_500
/** A thread that waits may wait for its turn on a busy machine: it stalls after this time, ms. */
const waitingMs = 15_000

type Watched = Pick<FuzzTarget, 'http' | 'mainThreadMs'>

/** Asks `/healthz` from outside, ten times a second; tells once of each time of silence. Ends with the signal. */
export async function watchStalls(
  { http, mainThreadMs }: Watched,
  clock: FairClock,
  tell: () => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const answered = new AbortController()
    const asking = timeAnswer(http)
      .catch(() => 0)
      .finally(() => answered.abort())
    const over = AbortSignal.any([answered.signal, signal])
    const before = mainThreadMs()
    const worked = () => (mainThreadMs() ?? Number.POSITIVE_INFINITY) - (before ?? 0)
    void expectAnswer(clock, worked, over).then(isStalled => isStalled && tell())
    await asking
    await sleep(everyMs)
  }
}

async function expectAnswer(clock: FairClock, worked: () => number, over: AbortSignal): Promise<boolean> {
  for (let waited = stallMs; !over.aborted; waited += stallMs) {
    await clock.expire(stallMs, over).catch(() => undefined)
    if (!over.aborted && (worked() >= workingMs || waited >= waitingMs)) return true
  }
  return false
}
