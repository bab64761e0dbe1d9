// Leaves failing hosts alone, so that they cost only a few attempts.

import type { System } from '@postern/message'
import { Unavailable, Undeliverable } from '@postern/message'
import { addToCount } from '../work-pool.ts'
import type { BreakerPolicy, HostReason, HostState, Moment, Tried } from './host-health.ts'
import {
  findBreakerPolicy,
  findWay,
  isWorthKeeping,
  lasts,
  learnOf,
  logChange,
  nameReason,
  unknownHost,
} from './host-health.ts'

/** The permission for an attempt, which must `report` its outcome in every case, or the time until which the delivery has to wait, in ms. */
export type Admission =
  | { readonly waitUntil?: undefined; report(tried: Tried): void }
  | ({ readonly waitUntil: number } & HostReason)

/** Leaves hosts alone that do not answer, so that they cost a few attempts instead of one for each delivery. Its state is a hint that may be lost. */
export interface Breaker {
  /** Admits an attempt. It waits while other attempts find out if the host answers, but never longer than an attempt takes. */
  admit(host: string): Promise<Admission>
  /** Lists the hosts to which nothing is sent now. */
  listLeftAlone(): readonly LeftAloneHost[]
}

export interface LeftAloneHost {
  readonly host: string
  /** ms */
  readonly until: number
  readonly reason: string
  /** The end of the time in which it is not tried because it does not answer, ms. */
  readonly openUntil?: number | undefined
  /** The end of the time in which it asked to be left alone (`Retry-After`), ms. */
  readonly heldUntil?: number | undefined
}

export function createBreaker(
  { now, log, sleep }: Pick<System, 'now' | 'log' | 'sleep'>,
  policyOf: (host: string) => BreakerPolicy = findBreakerPolicy,
): Breaker {
  const states = createHostStates(policyOf(''), now)
  /** The attempts in progress by host, never more in all than there are slots for deliveries. */
  const running = new Map<string, number>()
  const countRunning = (host: string) => running.get(host) ?? 0
  /** The signals to deliveries that wait for the next report about a host. */
  const news = new Map<string, AbortController>()

  function learn(host: string, tried: Tried, before = unknownHost): void {
    const after = learnOf(before, tried, { now: now(), policy: policyOf(host) })
    states.set(host, after)
    logChange(log, host, before, after)
  }

  function begin(host: string): Admission {
    addToCount(running, host, 1)
    return {
      report(tried) {
        addToCount(running, host, -1)
        const state = states.get(host)
        // There is no record of a host that answers and asks for no pause.
        if (state || tried.health !== 'lives' || tried.askedMs !== undefined) learn(host, tried, state)
        news.get(host)?.abort()
        news.delete(host)
      },
    }
  }

  async function awaitNews(host: string): Promise<void> {
    const awaited = news.get(host) ?? new AbortController()
    news.set(host, awaited)
    await sleep(policyOf(host).probeMs, awaited.signal)
  }

  return {
    async admit(host) {
      for (;;) {
        const state = states.get(host)
        if (!state) return begin(host)
        const [at, policy] = [now(), policyOf(host)]
        const way = findWay(state, { running: countRunning(host), now: at, policy })
        if (way === 'later') return toWaiting(state, { now: at, policy })
        if (way === 'go') {
          if (state.openUntil !== undefined)
            states.set(host, { ...state, probeUntil: at + policy.probeMs, touchedAt: at })
          return begin(host)
        }
        await awaitNews(host)
      }
    },
    listLeftAlone: () => listHostsLeftAlone(states, host => ({ now: now(), policy: policyOf(host) })),
  }
}

function listHostsLeftAlone(states: HostStates, momentOf: (host: string) => Moment): readonly LeftAloneHost[] {
  return [...states.entries()].flatMap(([host, state]) => {
    const moment = momentOf(host)
    const causes = findCauses(state, moment)
    const until = Math.max(...Object.values(causes))
    return Object.keys(causes).length > 0
      ? [{ host, until, reason: nameReason(state, moment).sentence, ...causes }]
      : []
  })
}

/** Finds the reasons for leaving a host alone, each with the time at which it ends. */
function findCauses({ openUntil, heldUntil }: HostState, { now, policy }: Moment) {
  return {
    ...(openUntil !== undefined && lasts(openUntil, now, policy.capMs) && { openUntil }),
    ...(lasts(heldUntil, now, policy.capMs) && { heldUntil }),
  }
}

function toWaiting(state: HostState, moment: Moment): Admission {
  return { waitUntil: Math.max(...Object.values(findCauses(state, moment))), ...nameReason(state, moment) }
}

/**
 * Reads the health of a host from the outcome of an attempt. A host that answers `lives`, even if it refuses; only 5xx and silence are failures. An
 * error of another kind is ours, because a stranger who names addresses of a host must not cause it to be left alone.
 */
export function readHealth(error: unknown): Tried {
  if (error === undefined) return { health: 'lives' }
  if (error instanceof Undeliverable) return { health: error.status === undefined ? 'unknown' : 'lives' }
  if (!(error instanceof Unavailable) || error.isHearsay) return { health: 'unknown' }
  const { status, retryAfter } = error
  const lives = status !== undefined && status < 500
  return { health: lives ? 'lives' : 'failing', askedMs: retryAfter === undefined ? undefined : retryAfter * 1_000 }
}

interface HostStates {
  get(host: string): HostState | undefined
  set(host: string, state: HostState): void
  entries(): Iterable<readonly [host: string, state: HostState]>
}

/** Creates the states of hosts, limited in number and time; the longest unused go first, because strangers can invent hosts (CVE-2026-69132). */
function createHostStates(policy: BreakerPolicy, now: () => number): HostStates {
  const { maxHosts, keepMs } = policy
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
      if (isWorthKeeping(state, { now: now(), policy })) states.set(host, state)
      dropOld()
    },
    entries: () => states,
  }
}
