import { setTimeout as delay } from 'node:timers/promises'

/** Asks until there is an answer. @throws Error `what` has not happened within `timeoutMs` */
export async function waitUntil<Value>(
  what: string,
  probe: () => Promise<Value | undefined> | Value | undefined,
  timeoutMs = 15_000,
): Promise<Value> {
  const end = Date.now() + timeoutMs
  for (;;) {
    const value = await probe()
    if (value) return value
    if (Date.now() > end) throw new Error(`${what}: not within ${timeoutMs / 1_000} s`)
    await delay(100)
  }
}
