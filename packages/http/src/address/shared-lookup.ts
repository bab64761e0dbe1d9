import type { LookupHost } from './pinned-lookup.ts'

interface Remembered {
  readonly found: Promise<readonly string[]>
  /** Forever, while the answer is awaited. */
  until: number
}

const keptMs = 5_000
const keptHosts = 1_000

/** Concurrent connections share one lookup; with a clock, also those of the next five seconds. Failures are not kept. */
export function shareLookups(lookup: LookupHost, now?: () => number): LookupHost {
  const remembered = new Map<string, Remembered>()

  function askAnew(host: string): Promise<readonly string[]> {
    const asked: Remembered = { found: lookup(host), until: Number.POSITIVE_INFINITY }
    const keepUntil = (until: number) => {
      asked.until = until
    }
    asked.found.then(
      () => keepUntil(now ? now() + keptMs : 0),
      () => keepUntil(0),
    )
    if (remembered.size >= keptHosts) remembered.clear()
    remembered.set(host, asked)
    return asked.found
  }

  return async host => {
    const known = remembered.get(host)
    return known && (now?.() ?? 0) < known.until ? known.found : askAnew(host)
  }
}
