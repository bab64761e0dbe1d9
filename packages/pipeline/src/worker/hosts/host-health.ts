// Decides by past failures whether the next delivery to a host is attempted or waits.
import type { DeliveryReason, System } from '@postern/message'
import { isoTime, mailGroup } from '@postern/message'

/** The reason for which nothing is sent to a host. */
export interface HostReason {
  readonly reason: DeliveryReason
  readonly sentence: string
}

const unresponsiveReason: HostReason = {
  reason: 'host_left_alone',
  sentence: 'its host does not answer and is left alone for a while',
}
const requestedPauseReason: HostReason = { reason: 'host_asked_for_time', sentence: 'its host asked for time' }

export function readHostReason({ openUntil }: HostState, { now, policy }: BreakerContext): HostReason {
  return isInFuture(openUntil, now, policy.capMs) ? unresponsiveReason : requestedPauseReason
}

/** Returns true if a time is in the future. A time more than `windowMs` ahead counts as past, because the clock must have been set back. */
export function isInFuture(until: number | undefined, now: number, windowMs: number): boolean {
  return until !== undefined && until > now && until <= now + windowMs
}

export function logStateChange(log: System['log'], host: string, previousState: HostState, nextState: HostState): void {
  if (nextState.openUntil !== undefined && nextState.openUntil !== previousState.openUntil) {
    const until = isoTime(nextState.openUntil)
    log.warn(
      { host, failures: nextState.failures.length, opened: nextState.openings, until },
      'host left alone: it does not answer',
    )
  }
  if (previousState.openUntil !== undefined && nextState.openUntil === undefined)
    log.info({ host }, 'host answers again')
  if (nextState.heldUntil > previousState.heldUntil) {
    log.info({ host, until: isoTime(nextState.heldUntil) }, 'host left alone: it asked for time')
  }
}

export interface BreakerPolicy {
  /** The number of consecutive failures within `withinMs` after which the host is left alone. */
  readonly failures: number
  readonly withinMs: number
  /** The time for which it is left alone before one attempt, in ms. It doubles with each failed attempt, up to `capMs`. */
  readonly openMs: number
  readonly capMs: number
  /** The time after which an attempt without a report makes room for another one, in ms. */
  readonly probeMs: number
  /** The time without news after which a host is forgotten, in ms. */
  readonly keepMs: number
  /** The maximum number of hosts that the breaker remembers. Beyond it, the breaker forgets the host whose last attempt is the oldest. */
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

/** Returns the policy for a host. Our own mail server is retried sooner than a stranger's host, because all mail waits for it. */
export function findBreakerPolicy(host: string): BreakerPolicy {
  return host === mailGroup ? { ...defaultBreakerPolicy, openMs: 60_000, capMs: 10 * 60_000 } : defaultBreakerPolicy
}

/** The health of a host after an attempt: `healthy`, `failing`, or `unknown` because the gateway itself failed. */
export interface AttemptHealth {
  readonly health: 'healthy' | 'failing' | 'unknown'
  /** The time for which the host asked to be left alone (`Retry-After`), in ms. */
  readonly retryAfterMs?: number | undefined
}

/** The known facts about a host that has failed or asked for a pause. There is no record of other hosts. */
export interface HostState {
  /** The times of the last few consecutive failures, in ms. */
  readonly failures: readonly number[]
  /** The end of the time in which it is left alone; afterwards one attempt at a time is allowed. Absent if it is not left alone. */
  readonly openUntil?: number | undefined
  /** The number of consecutive times that it was left alone. */
  readonly openings: number
  /** The time limit of the one attempt; absent if there is none in progress. */
  readonly probeUntil?: number | undefined
  /** The end of the time in which it asked to be left alone. */
  readonly heldUntil: number
  readonly touchedAt: number
}

export const unknownHost: HostState = { failures: [], openings: 0, heldUntil: 0, touchedAt: 0 }

const minRetryAfterMs = 1_000

export interface BreakerContext {
  readonly now: number
  readonly policy: BreakerPolicy
}

/**
 * Decides about the next attempt. `wait` means to wait for the report of an attempt in progress, because a host that has failed gets no more concurrent
 * attempts than are needed to reach the limit of failures.
 */
export function decideAttempt(
  state: HostState,
  { running: attemptCount, now, policy }: BreakerContext & { readonly running: number },
): 'attempt' | 'wait' | 'defer' {
  const { openUntil, probeUntil, heldUntil } = state
  if (isInFuture(heldUntil, now, policy.capMs) || isInFuture(openUntil, now, policy.capMs)) return 'defer'
  if (openUntil !== undefined) return isInFuture(probeUntil, now, policy.probeMs) ? 'wait' : 'attempt'
  const failureCount = listRecentFailures(state, { now, policy }).length
  return failureCount > 0 && attemptCount > 0 && failureCount + attemptCount >= policy.failures ? 'wait' : 'attempt'
}

function listRecentFailures({ failures }: HostState, { now, policy: { withinMs } }: BreakerContext): readonly number[] {
  return failures.filter(failedAt => failedAt > now - withinMs && failedAt <= now)
}

export function computeNextState(state: HostState, attempt: AttemptHealth, context: BreakerContext): HostState {
  const updatedState = {
    ...state,
    heldUntil: computeHeldUntil(state, attempt, context),
    touchedAt: context.now,
    probeUntil: undefined,
  }
  if (attempt.health === 'unknown') return updatedState
  if (attempt.health === 'healthy') return { ...updatedState, failures: [], openUntil: undefined, openings: 0 }
  return countFailure(updatedState, context)
}

function computeHeldUntil(
  { heldUntil }: HostState,
  { retryAfterMs }: AttemptHealth,
  { now, policy: { capMs } }: BreakerContext,
): number {
  if (retryAfterMs === undefined) return heldUntil
  const currentHeldUntil = isInFuture(heldUntil, now, capMs) ? heldUntil : 0
  return Math.max(currentHeldUntil, now + Math.min(capMs, Math.max(minRetryAfterMs, retryAfterMs)))
}

function countFailure(state: HostState, { now, policy }: BreakerContext): HostState {
  // A late report from the attempts that caused the pause adds nothing.
  if (isInFuture(state.openUntil, now, policy.capMs)) return state
  const failures = [...listRecentFailures(state, { now, policy }), now].slice(-policy.failures)
  if (state.openUntil === undefined && failures.length < policy.failures) return { ...state, failures }
  const openMs = Math.min(policy.capMs, policy.openMs * 2 ** state.openings)
  return { ...state, failures, openUntil: now + openMs, openings: state.openings + 1 }
}

export function isWorthKeeping(
  { failures, openUntil, heldUntil }: HostState,
  { now, policy }: BreakerContext,
): boolean {
  return failures.length > 0 || openUntil !== undefined || isInFuture(heldUntil, now, policy.capMs)
}
