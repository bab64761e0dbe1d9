/** Lets a walk begin for a sender's host, and gives how to say that it is over; undefined when there are too many already. */
export type BeginWalk = (host: string) => (() => void) | undefined

/**
 * Walks under way, each of which keeps a turn waiting: of one host's senders, and in all. Whoever names hosts that hang must not
 * have all turns wait for them.
 */
export function createWalkGate({ ofHost, inAll }: { readonly ofHost: number; readonly inAll: number }): BeginWalk {
  const walking = new Map<string, number>()
  let total = 0
  return host => {
    const count = walking.get(host) ?? 0
    if (count >= ofHost || total >= inAll) return undefined
    walking.set(host, count + 1)
    total += 1
    return () => {
      total -= 1
      const left = (walking.get(host) ?? 0) - 1
      if (left > 0) walking.set(host, left)
      else walking.delete(host)
    }
  }
}
