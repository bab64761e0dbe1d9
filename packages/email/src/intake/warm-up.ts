// Loads the code for the first mail in advance, with pauses for other work.
import type { System } from '@postern/message'

/**
 * The pause before the first load and the pause between loads, ms. The program starts without waiting, and other work
 * runs between the loads.
 */
const [initialPauseMs, pauseMs] = [300, 20]

/** Loads the code in pieces, because loading everything at once would delay other work. If a load fails, the first mail retries it. */
export async function warmUp(
  loads: readonly (() => Promise<unknown>)[],
  { sleep }: Pick<System, 'sleep'>,
  signal: AbortSignal,
): Promise<void> {
  await sleep(initialPauseMs, signal)
  for (const load of loads) {
    if (signal.aborted) return
    await load().catch(() => undefined)
    await sleep(pauseMs, signal)
  }
}
