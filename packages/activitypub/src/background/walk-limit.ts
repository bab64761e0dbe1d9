import { createExpiringMap } from '../cache/cache.ts'
import { findHost } from '../format/document.ts'

/** To be called once, when a walk is over; `isStalled`: it took all the time there is. */
type EndWalk = (isStalled: boolean) => void

/** Starts a walk for a sender (an actor's IRI); undefined when the sender may not start another one. */
type BeginWalk = (sender: string) => EndWalk | undefined

interface WalkLimitOptions {
  /** Walks under way: for senders of one host, and in all. */
  readonly atOnce: { readonly ofHost: number; readonly inAll: number }
  /** Walks that stalled within a minute or so, after which none begins: for one sender, and for all of a host. */
  readonly stalled: { readonly ofSender: number; readonly ofHost: number }
  now(): number
}

const stalledMs = 60_000
const maxSenders = 2_000

/**
 * A walk makes a turn wait, and its thread with it. A sender who names hosts that hang must not block all turns, nor
 * the threads of others for long.
 */
export function createWalkLimit({ atOnce, stalled, now }: WalkLimitOptions): BeginWalk {
  const walking = new Map<string, number>()
  const stalls = createExpiringMap<number>(maxSenders, now)
  let total = 0

  function isOpen(sender: string, host: string): boolean {
    if (total >= atOnce.inAll || (walking.get(host) ?? 0) >= atOnce.ofHost) return false
    return (stalls.get(sender) ?? 0) < stalled.ofSender && (stalls.get(host) ?? 0) < stalled.ofHost
  }

  function count(host: string, change: 1 | -1): void {
    total += change
    const counted = (walking.get(host) ?? 0) + change
    if (counted > 0) walking.set(host, counted)
    else walking.delete(host)
  }

  return sender => {
    const host = findHost(sender) ?? ''
    if (!isOpen(sender, host)) return undefined
    count(host, 1)
    return isStalled => {
      count(host, -1)
      if (!isStalled) return
      for (const name of [sender, host]) stalls.set(name, (stalls.get(name) ?? 0) + 1, stalledMs)
    }
  }
}
