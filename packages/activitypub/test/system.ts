// Provides the system of a gateway under test.
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { GuardedFetch, Log, LogFields, System } from '@postern/message'

/** A system with a real network (through the guard), real randomness, and a clock that a test can advance. */
export interface TestSystem extends System {
  /** Advances the clock by a number of ms. */
  advance(ms: number): void
  /** Stops the clock, so that only `advance` makes time pass. */
  holdClock(): void
  readonly logged: readonly { readonly fields: LogFields; readonly text: string }[]
}

export function createTestSystem(fetch: GuardedFetch): TestSystem {
  let shift = 0
  let held: number | undefined
  const logged: { fields: LogFields; text: string }[] = []
  const keep = (fields: LogFields, text: string) => void logged.push({ fields, text })
  const log: Log = { debug: keep, info: keep, warn: keep, error: keep }
  return {
    fetch,
    resolveDns: async () => [],
    submitMail: async () => ({ response: '250 ok' }),
    now: () => (held ?? Date.now()) + shift,
    randomBytes: count => randomBytes(count),
    sleep: (ms, signal) => delay(ms, undefined, signal && { signal }).catch(() => undefined),
    log,
    advance: ms => {
      shift += ms
    },
    holdClock() {
      held = Date.now()
    },
    logged,
  }
}
