// Pauses deliveries to failing hosts, so that these hosts cost only a few attempts (a circuit breaker).

import type { System } from '@postern/message'
import { Unavailable, Undeliverable } from '@postern/message'
import { addToCount } from '../add-to-count.ts'
import type { AttemptHealth, BreakerContext, BreakerPolicy, HostReason, HostState } from './host-health.ts'
import {
  computeNextState,
  decideAttempt,
  findBreakerPolicy,
  isInFuture,
  isWorthKeeping,
  logStateChange,
  readHostReason,
  unknownHost,
} from './host-health.ts'

/** Either the permission for an attempt, which must always `report` its outcome, or the time until which the delivery waits, in ms. */
export type Admission =
  | { readonly waitUntil?: undefined; report(attempt: AttemptHealth): void }
  | ({ readonly waitUntil: number } & HostReason)

/**
 * Pauses deliveries to hosts that do not answer, so that a host costs a few attempts instead of one for each delivery. The state is in memory, because
 * its loss costs only a few attempts.
 */
export interface Breaker {
  /** Admits an attempt. It waits while other attempts find out whether the host answers, but never longer than an attempt takes. */
  admit(host: string): Promise<Admission>
  /** Lists the hosts to which nothing is sent now. */
  listPausedHosts(): readonly PausedHost[]
}

export interface PausedHost {
  readonly host: string
  /** The end of the pause, ms. */
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
  /** The number of attempts in progress for each host. The delivery slots bound the total. */
  const attemptCounts = new Map<string, number>()
  const countAttempts = (host: string) => attemptCounts.get(host) ?? 0
  /** The signals to deliveries that wait for the next report about a host. */
  const reportSignals = new Map<string, AbortController>()

  function recordOutcome(host: string, attempt: AttemptHealth, previousState = unknownHost): void {
    const nextState = computeNextState(previousState, attempt, { now: now(), policy: policyOf(host) })
    states.set(host, nextState)
    logStateChange(log, host, previousState, nextState)
  }

  function beginAttempt(host: string): Admission {
    addToCount(attemptCounts, host, 1)
    return {
      report(attempt) {
        addToCount(attemptCounts, host, -1)
        const state = states.get(host)
        // A healthy host has no record.
        if (state || attempt.health !== 'healthy' || attempt.retryAfterMs !== undefined)
          recordOutcome(host, attempt, state)
        reportSignals.get(host)?.abort()
        reportSignals.delete(host)
      },
    }
  }

  async function waitForReport(host: string): Promise<void> {
    const controller = reportSignals.get(host) ?? new AbortController()
    reportSignals.set(host, controller)
    await sleep(policyOf(host).probeMs, controller.signal)
  }

  return {
    async admit(host) {
      for (;;) {
        const state = states.get(host)
        if (!state) return beginAttempt(host)
        const [time, policy] = [now(), policyOf(host)]
        const decision = decideAttempt(state, { running: countAttempts(host), now: time, policy })
        if (decision === 'defer') return toDeferral(state, { now: time, policy })
        if (decision === 'attempt') {
          if (state.openUntil !== undefined)
            states.set(host, { ...state, probeUntil: time + policy.probeMs, touchedAt: time })
          return beginAttempt(host)
        }
        await waitForReport(host)
      }
    },
    listPausedHosts: () => listHostsLeftAlone(states, host => ({ now: now(), policy: policyOf(host) })),
  }
}

function listHostsLeftAlone(states: HostStates, contextOf: (host: string) => BreakerContext): readonly PausedHost[] {
  return [...states.entries()].flatMap(([host, state]) => {
    const context = contextOf(host)
    const causes = findCauses(state, context)
    const until = Math.max(...Object.values(causes))
    return Object.keys(causes).length > 0
      ? [{ host, until, reason: readHostReason(state, context).sentence, ...causes }]
      : []
  })
}

/** Finds the reasons for leaving a host alone, each with the time at which it ends. */
function findCauses({ openUntil, heldUntil }: HostState, { now, policy }: BreakerContext) {
  return {
    ...(openUntil !== undefined && isInFuture(openUntil, now, policy.capMs) && { openUntil }),
    ...(isInFuture(heldUntil, now, policy.capMs) && { heldUntil }),
  }
}

function toDeferral(state: HostState, context: BreakerContext): Admission {
  return { waitUntil: Math.max(...Object.values(findCauses(state, context))), ...readHostReason(state, context) }
}

/**
 * Reads the health of a host from the outcome of an attempt. A host that answers is `healthy`, even if it refuses; only 5xx and silence are failures. Any
 * other error counts as ours, because a stranger must not be able to pause a host by sending the gateway wrong addresses on it.
 */
export function readHealth(error: unknown): AttemptHealth {
  if (error === undefined) return { health: 'healthy' }
  if (error instanceof Undeliverable) return { health: error.status === undefined ? 'unknown' : 'healthy' }
  if (!(error instanceof Unavailable) || error.isHearsay) return { health: 'unknown' }
  const { status, retryAfter } = error
  const isHealthy = status !== undefined && status < 500
  return {
    health: isHealthy ? 'healthy' : 'failing',
    retryAfterMs: retryAfter === undefined ? undefined : retryAfter * 1_000,
  }
}

interface HostStates {
  get(host: string): HostState | undefined
  set(host: string, state: HostState): void
  entries(): Iterable<readonly [host: string, state: HostState]>
}

/** Creates the states of hosts, limited in number and time; those without use for the longest time go first, because strangers can invent hosts (CVE-2026-69132). */
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
