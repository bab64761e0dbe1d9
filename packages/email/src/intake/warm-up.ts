import type { Platform } from '@postern/core'

/** The start of the program does not wait for it, and other work runs between the pieces. */
const [calmMs, pauseMs] = [300, 20]

/**
 * Loads the code for the first mail in advance, piece by piece: all at once it would delay other work. When a load
 * fails, the first mail tries again.
 */
export async function warmUp(
  loads: readonly (() => Promise<unknown>)[],
  { sleep }: Pick<Platform, 'sleep'>,
  signal: AbortSignal,
): Promise<void> {
  await sleep(calmMs, signal)
  for (const load of loads) {
    if (signal.aborted) return
    await load().catch(() => undefined)
    await sleep(pauseMs, signal)
  }
}
