import { Unavailable, Undeliverable } from '../format/errors.ts'
import type { Platform } from '../ports/platform/platform.ts'
import { isoTime } from '../ports/platform/platform.ts'

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

export interface BreakerPolicy {
  /** So many failures in a row, within `withinMs`, and the host is left alone. */
  readonly failures: number
  readonly withinMs: number
  /** How long it is left alone before it is tried once; doubles with each try that fails, up to `capMs`. */
  readonly openMs: number
  readonly capMs: number
  /** A try that has not come back by then makes room for another. */
  readonly probeMs: number
  /** A host nothing was heard of for so long is forgotten. */
  readonly keepMs: number
  /** Of more hosts than these the ones longest untouched are forgotten. */
  readonly maxHosts: number
}

export const defaultBreakerPolicy: BreakerPolicy = {
  failures: 5,
  withinMs: 10 * 60_000,
  openMs: 30 * 60_000,
  capMs: 6 * 3_600_000,
  probeMs: 60_000,
  keepMs: 24 * 3_600_000,
  maxHosts: 10_000,
}

/** What a try tells about its host: it `lives`, it is `failing`, or nothing (the fault was ours). */
export interface Tried {
  readonly health: 'lives' | 'failing' | 'unknown'
  /** How long the host asked to be left alone, ms. */
  readonly askedMs?: number | undefined
}

/**
 * What the end of a try tells about the host. Whoever answers lives, also when it refuses; only 5xx and silence are failures.
 * An error of another kind is ours. A stranger who names addresses of a host must not have it left alone.
 */
export function readHealth(error: unknown): Tried {
  if (error === undefined) return { health: 'lives' }
  if (error instanceof Undeliverable) return { health: error.status === undefined ? 'unknown' : 'lives' }
  if (!(error instanceof Unavailable) || error.isHearsay) return { health: 'unknown' }
  const { status, retryAfter } = error
  const lives = status !== undefined && status < 500
  return { health: lives ? 'lives' : 'failing', askedMs: retryAfter === undefined ? undefined : retryAfter * 1_000 }
}

/** What is known of a host that has failed or asked for time. Nothing is kept of the others. */
interface HostState {
  /** When, the last few in a row; ms. */
  readonly failures: readonly number[]
  /** Set while it is left alone; from then on one try at a time is let through. */
  readonly openUntil?: number | undefined
  /** How often in a row it was left alone. */
  readonly openings: number
  /** Set while the one try is under way. */
  readonly probeUntil?: number | undefined
  /** Until when it asked to be left alone. */
  readonly heldUntil: number
  readonly touchedAt: number
}

const unknownHost: HostState = { failures: [], openings: 0, heldUntil: 0, touchedAt: 0 }
const askedAtLeastMs = 1_000

export interface Moment {
  readonly now: number
  readonly policy: BreakerPolicy
}

/** `wait`: until one of those under way has reported. Of a host that has failed no more are tried at once than it takes to tell. */
function findWay(
  state: HostState,
  { running, now, policy }: Moment & { readonly running: number },
): 'go' | 'wait' | 'later' {
  const { openUntil, probeUntil = 0, heldUntil } = state
  if (Math.max(heldUntil, openUntil ?? 0) > now) return 'later'
  if (openUntil !== undefined) return probeUntil > now ? 'wait' : 'go'
  const failed = recentFailures(state, { now, policy }).length
  return failed > 0 && running > 0 && failed + running >= policy.failures ? 'wait' : 'go'
}

function recentFailures({ failures }: HostState, { now, policy: { withinMs } }: Moment): readonly number[] {
  return failures.filter(at => at > now - withinMs)
}

function learnOf(state: HostState, tried: Tried, moment: Moment): HostState {
  const held = { ...state, heldUntil: holdUntil(state, tried, moment), touchedAt: moment.now, probeUntil: undefined }
  if (tried.health === 'unknown') return held
  if (tried.health === 'lives') return { ...held, failures: [], openUntil: undefined, openings: 0 }
  return countFailure(held, moment)
}

function holdUntil({ heldUntil }: HostState, { askedMs }: Tried, { now, policy: { capMs } }: Moment): number {
  if (askedMs === undefined) return heldUntil
  return Math.max(heldUntil, now + Math.min(capMs, Math.max(askedAtLeastMs, askedMs)))
}

function countFailure(state: HostState, { now, policy }: Moment): HostState {
  // A straggler of the tries that have opened it says nothing new.
  if (state.openUntil !== undefined && now < state.openUntil) return state
  const failures = [...recentFailures(state, { now, policy }), now].slice(-policy.failures)
  if (state.openUntil === undefined && failures.length < policy.failures) return { ...state, failures }
  const openMs = Math.min(policy.capMs, policy.openMs * 2 ** state.openings)
  return { ...state, failures, openUntil: now + openMs, openings: state.openings + 1 }
}

interface HostStates {
  get(host: string): HostState | undefined
  set(host: string, state: HostState): void
  entries(): Iterable<readonly [host: string, state: HostState]>
}

/** Bounded in number and time, the longest untouched first: hosts are made up by strangers (CVE-2026-69132). */
function createHostStates({ maxHosts, keepMs }: BreakerPolicy, now: () => number): HostStates {
  const states = new Map<string, HostState>()

  function dropOld(): void {
    for (const [host, { touchedAt }] of states) {
      if (states.size <= maxHosts && touchedAt > now() - keepMs) return
      states.delete(host)
    }
  }

  return {
    get(host) {
      dropOld()
      return states.get(host)
    },
    set(host, state) {
      states.delete(host)
      if (isWorthKeeping(state, now())) states.set(host, state)
      dropOld()
    },
    entries: () => states,
  }
}

function isWorthKeeping({ failures, openUntil, heldUntil }: HostState, now: number): boolean {
  return failures.length > 0 || openUntil !== undefined || heldUntil > now
}
