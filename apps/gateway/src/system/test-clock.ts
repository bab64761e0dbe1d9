// Provides a clock that tests move forward. A sleep whose time has passed then resolves at once.
import { pause } from './pause.ts'

/** The clock of a gateway and of its simulated network. */
export interface GatewayClock {
  /** Returns the time in ms since the epoch. */
  now(): number
  /** Resolves after `ms`, or as soon as the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export interface TestClock extends GatewayClock {
  /** Moves the clock forward by `ms`, and wakes every sleep whose time has passed. */
  advance(ms: number): void
}

export function createTestClock(): TestClock {
  let aheadMs = 0
  const naps = new Set<{ readonly endsAt: number; wake(): void }>()
  const now = () => Date.now() + aheadMs
  return {
    now,
    async sleep(ms, signal) {
      const woken = new AbortController()
      const nap = { endsAt: now() + ms, wake: () => woken.abort() }
      const end = () => woken.abort()
      naps.add(nap)
      signal?.addEventListener('abort', end, { once: true })
      if (signal?.aborted) end()
      await pause(ms, woken.signal)
      signal?.removeEventListener('abort', end)
      naps.delete(nap)
    },
    advance(ms) {
      aheadMs += ms
      for (const { endsAt, wake } of naps) if (endsAt <= now()) wake()
    },
  }
}
