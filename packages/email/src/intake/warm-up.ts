import type { Platform } from '@postern/core'

/** Whoever starts the program does not wait for it; and in between others have their turn. */
const [calmMs, pauseMs] = [300, 20]

/**
 * Loads what the first mail needs before it comes, piece by piece: all of it at once would hold up everybody else. What cannot be loaded now is
 * tried again by the mail.
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
