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
  const sleepers = new Set<{ readonly endsAt: number; wake(): void }>()
  const now = () => Date.now() + aheadMs
  return {
    now,
    async sleep(ms, signal) {
      const wakeController = new AbortController()
      const sleeper = { endsAt: now() + ms, wake: () => wakeController.abort() }
      sleepers.add(sleeper)
      signal?.addEventListener('abort', sleeper.wake, { once: true })
      if (signal?.aborted) sleeper.wake()
      await pause(ms, wakeController.signal)
      signal?.removeEventListener('abort', sleeper.wake)
      sleepers.delete(sleeper)
    },
    advance(ms) {
      aheadMs += ms
      for (const { endsAt, wake } of sleepers) if (endsAt <= now()) wake()
    },
  }
}
