import type { Platform } from '../ports/platform/platform.ts'
import { isoTime } from '../ports/platform/platform.ts'
import type { BreakerPolicy, HostState, Tried } from './host-state.ts'
import { createHostStates, defaultBreakerPolicy, findWay, learnOf, unknownHost } from './host-state.ts'

export type { BreakerPolicy, Tried } from './host-state.ts'
export { defaultBreakerPolicy } from './host-state.ts'

/** A try may be made, and has to `report` how it ended, whatever happened; or it has to wait until then, ms. */
export type Admission =
  | { readonly waitUntil?: undefined; report(tried: Tried): void }
  | { readonly waitUntil: number; readonly reason: string }

/** Leaves hosts alone that do not answer, so that they cost a few tries instead of one per delivery. A hint that may be lost. */
export interface Breaker {
  /** Resolves late where others are just finding out whether the host lives: never longer than a try takes. */
  admit(host: string): Promise<Admission>
  /** Hosts that nothing is sent to now. */
  listLeftAlone(): readonly LeftAloneHost[]
}

export interface LeftAloneHost {
  readonly host: string
  /** ms */
  readonly until: number
  readonly reason: string
  /** Until when it is not tried because it does not answer, ms. */
  readonly openUntil?: number | undefined
  /** Until when it asked to be left alone (`Retry-After`), ms. */
  readonly heldUntil?: number | undefined
}

const reasons = {
  open: 'its host does not answer and is left alone for a while',
  held: 'its host asked for time',
} as const

export function createBreaker(
  { now, log, sleep }: Pick<Platform, 'now' | 'log' | 'sleep'>,
  policy: BreakerPolicy = defaultBreakerPolicy,
): Breaker {
  const states = createHostStates(policy, now)
  /** Tries under way, of all hosts: never more than there are slots for deliveries. */
  const running = createTally()
  /** Whoever waits for the next report about a host. */
  const news = new Map<string, AbortController>()

  function begin(host: string): Admission {
    running.add(host, 1)
    return {
      report(tried) {
        running.add(host, -1)
        const before = states.get(host) ?? unknownHost
        const after = learnOf(before, tried, { now: now(), policy })
        states.set(host, after)
        logChange(log, host, before, after)
        news.get(host)?.abort()
        news.delete(host)
      },
    }
  }

  async function awaitNews(host: string): Promise<void> {
    const awaited = news.get(host) ?? new AbortController()
    news.set(host, awaited)
    await sleep(policy.probeMs, awaited.signal)
  }

  return {
    async admit(host) {
      for (;;) {
        const state = states.get(host)
        if (!state) return begin(host)
        const at = now()
        const way = findWay(state, { running: running.get(host), now: at, policy })
        if (way === 'later') return toWaiting(state, at)
        if (way === 'go') {
          if (state.openUntil !== undefined)
            states.set(host, { ...state, probeUntil: at + policy.probeMs, touchedAt: at })
          return begin(host)
        }
        await awaitNews(host)
      }
    },
    listLeftAlone() {
      const at = now()
      return [...states.entries()].flatMap(([host, state]) => {
        const { openUntil = 0, heldUntil } = state
        const until = Math.max(openUntil, heldUntil)
        if (until <= at) return []
        const causes = { ...(openUntil > at && { openUntil }), ...(heldUntil > at && { heldUntil }) }
        return [{ host, until, reason: reasonOf(state, at), ...causes }]
      })
    },
  }
}

interface Tally {
  get(key: string): number
  add(key: string, change: 1 | -1): void
}

function createTally(): Tally {
  const counts = new Map<string, number>()
  const get = (key: string) => counts.get(key) ?? 0
  return {
    get,
    add(key, change) {
      const count = get(key) + change
      if (count > 0) counts.set(key, count)
      else counts.delete(key)
    },
  }
}

function toWaiting(state: HostState, now: number): Admission {
  const { openUntil = 0, heldUntil } = state
  return { waitUntil: Math.max(openUntil, heldUntil), reason: reasonOf(state, now) }
}

function reasonOf({ openUntil = 0 }: HostState, now: number): string {
  return openUntil > now ? reasons.open : reasons.held
}

function logChange(log: Platform['log'], host: string, before: HostState, after: HostState): void {
  if (after.openUntil !== undefined && after.openUntil !== before.openUntil) {
    const until = isoTime(after.openUntil)
    log.warn(
      { host, failures: after.failures.length, opened: after.openings, until },
      'host left alone: it does not answer',
    )
  }
  if (before.openUntil !== undefined && after.openUntil === undefined) log.info({ host }, 'host answers again')
  if (after.heldUntil > before.heldUntil) {
    log.info({ host, until: isoTime(after.heldUntil) }, 'host left alone: it asked for time')
  }
}
