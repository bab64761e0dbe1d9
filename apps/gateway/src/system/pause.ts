// Waits for real time to pass.
import { setTimeout as delay } from 'node:timers/promises'

/** Resolves after `ms` milliseconds, or as soon as the signal aborts. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, signal && { signal })
  } catch {
    // The caller has ended the wait by the signal.
  }
}
