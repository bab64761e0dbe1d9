/** Remembers since when a message is put off, so that it is not put off for ever. A hint: a restart forgets it. */
export interface Deferrals {
  /** May this message (by the digest of its content) still be put off? The first question starts its time. */
  canDefer(digest: string): boolean
}

const maxKnown = 10_000

/** `longestMs` from the first time a message came. */
export function createDeferrals(now: () => number, longestMs: number): Deferrals {
  const firstSeen = new Map<string, number>()
  return {
    canDefer(digest) {
      const first = firstSeen.get(digest) ?? now()
      firstSeen.set(digest, first)
      if (firstSeen.size > maxKnown) firstSeen.delete(firstSeen.keys().next().value ?? digest)
      return now() - first < longestMs
    },
  }
}
