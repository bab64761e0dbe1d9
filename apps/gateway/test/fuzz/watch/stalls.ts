// Watches a server for stalls of its main thread.
import type { FuzzTarget } from '../target/open.ts'
import type { FairClock } from './fair-clock.ts'
import { sleep, timeAnswer } from './fair-clock.ts'

const everyMs = 100
/** The processor time, ms, that a main thread may use without answering before it counts as stalled. */
const stallMs = 1_500
/** The fair time after which a waiting thread has stalled, ms. On a busy machine it may wait for the processor. */
const waitingMs = 15_000

type WatchedServer = Pick<FuzzTarget, 'http' | 'mainThreadMs'>

/** Polls `/healthz` from outside, ten times a second, and reports each period of silence once. Ends with the signal. */
export async function watchStalls(
  { http, mainThreadMs }: WatchedServer,
  clock: FairClock,
  onStall: () => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const answerSeen = new AbortController()
    const pendingAnswer = timeAnswer(http)
      .catch(() => 0)
      .finally(() => answerSeen.abort())
    const endSignal = AbortSignal.any([answerSeen.signal, signal])
    void isStalling(clock, mainThreadMs, endSignal).then(isStalled => isStalled && onStall())
    await pendingAnswer
    await sleep(everyMs)
  }
}

/** Resolves once the server has stalled or the watch is over. */
async function isStalling(
  clock: FairClock,
  mainThreadMs: WatchedServer['mainThreadMs'],
  endSignal: AbortSignal,
): Promise<boolean> {
  const [threadMsAtStart, clockMsAtStart] = [mainThreadMs(), clock.now()]
  while (!endSignal.aborted) {
    await sleep(everyMs)
    const now = mainThreadMs()
    const hasWorked = now !== undefined && threadMsAtStart !== undefined && now - threadMsAtStart >= stallMs
    if (!endSignal.aborted && (hasWorked || clock.now() - clockMsAtStart >= waitingMs)) return true
  }
  return false
}
