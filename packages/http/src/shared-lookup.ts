import type { LookupHost } from './pinned-lookup.ts'

interface Remembered {
  readonly found: Promise<readonly string[]>
  /** Until the answer is there: for ever. */
  until: number
}

const keptMs = 5_000
const keptHosts = 1_000

/**
 * Connections that are opened at the same time share one look-up; with a clock, also those of the next five seconds.
 * Failures are not kept.
 */
export function shareLookups(lookup: LookupHost, now?: () => number): LookupHost {
  const remembered = new Map<string, Remembered>()

  function remember(host: string): Promise<readonly string[]> {
    const entry: Remembered = { found: lookup(host), until: Number.POSITIVE_INFINITY }
    const settle = (until: number) => {
      entry.until = until
      if (until === 0 && remembered.get(host) === entry) remembered.delete(host)
    }
    entry.found.then(
      () => settle(now ? now() + keptMs : 0),
      () => settle(0),
    )
    if (remembered.size >= keptHosts) remembered.clear()
    remembered.set(host, entry)
    return entry.found
  }

  return async host => {
    const known = remembered.get(host)
    if (known && (known.until === Number.POSITIVE_INFINITY || (now && now() < known.until))) return known.found
    remembered.delete(host)
    return remember(host)
  }
}
