import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { GuardedFetch, Log, Platform } from '@postern/core'

/** A world with a real network (through the guard), real chance, and a clock that can be put forward. */
export interface A2aTestPlatform extends Platform {
  /** Puts the clock forward, ms. */
  advance(ms: number): void
  /** From now on all waiting is so many times shorter. */
  hurry(factor: number): void
  readonly logged: readonly { readonly fields: unknown; readonly text: string }[]
}

export function createA2aPlatform(fetch: GuardedFetch): A2aTestPlatform {
  let shift = 0
  let pace = 1
  const logged: { fields: unknown; text: string }[] = []
  const keep = (fields: unknown, text: string) => void logged.push({ fields, text })
  const log: Log = { debug: keep, info: keep, warn: keep, error: keep }
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
    hurry: factor => {
      pace = factor
    },
    logged,
  }
}
