// Provides the system of a gateway under test.
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { GuardedFetch, Log, System } from '@postern/message'

/** A system with a real network (through the guard), real randomness, and a clock that can be advanced. */
export interface A2aTestSystem extends System {
  /** Advances the clock by a number of ms. */
  advance(ms: number): void
  /** Makes all waiting shorter by this factor from now on. */
  speedUpClock(factor: number): void
  readonly logged: readonly { readonly fields: unknown; readonly text: string }[]
}

export function createA2aSystem(fetch: GuardedFetch): A2aTestSystem {
  let shift = 0
  let pace = 1
  const logged: { fields: unknown; text: string }[] = []
  const record = (fields: unknown, text: string) => void logged.push({ fields, text })
  const log: Log = { debug: record, info: record, warn: record, error: record }
  return {
    fetch,
    resolveDns: async () => [],
    submitMail: async () => ({ response: '250 ok' }),
    now: () => Date.now() + shift,
    randomBytes: count => randomBytes(count),
    sleep: (ms, signal) => delay(ms / pace, undefined, signal && { signal }).catch(() => undefined),
    log,
    advance: ms => {
      shift += ms
    },
    speedUpClock: factor => {
      pace = factor
    },
    logged,
  }
}
