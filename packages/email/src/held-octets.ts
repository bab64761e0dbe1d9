import { Unavailable } from '@postern/core'

/** Room for bodies of requests that are read, proven and judged at a time. */
export interface HeldOctets {
  /**
   * Runs with room for so many octets, and gives the room back. One request alone always has room.
   * @throws Unavailable when there is none
   */
  hold<T>(octets: number, run: () => Promise<T>): Promise<T>
}

export function createHeldOctets(max: number): HeldOctets {
  let held = 0
  return {
    async hold(octets, run) {
      if (held > 0 && held + octets > max) {
        throw new Unavailable('Cannot accept mail: too much comes at once', { retryAfter: 30 })
      }
      held += octets
      try {
        return await run()
      } finally {
        held -= octets
      }
    },
  }
}

/** What a request says it brings, or the most it may bring. */
export function expectedOctets(headers: Headers, max: number): number {
  const declared = Number(headers.get('content-length') ?? Number.NaN)
  return declared >= 0 ? Math.min(declared, max) : max
}
