// Decides when a failed turn or delivery is tried again.

import type { DeliveryReason } from '@postern/message'
import { boundRetryAfter, Unavailable, Undeliverable } from '@postern/message'
import type { Settlement } from '../ports/records/work/settlement.ts'
import type { RetryPolicy } from '../ports/turn/retry-policy.ts'
import { describeFailure } from './describe-failure.ts'

export const defaultRetryPolicy: RetryPolicy = {
  initialDelayMs: 15_000,
  maxDelayMs: 6 * 3_600_000,
  giveUpAfterMs: 48 * 3_600_000,
}

export interface FailedAttempt {
  readonly error: unknown
  /** 1 for the first. */
  readonly attempt: number
  /** The time of the first attempt or postponement, in ms; default: now. Time before it does not count, for example while the gateway was stopped. */
  readonly firstAttemptAt?: number | undefined
  readonly now: number
  /** A random number in [0, 1), for the jitter. */
  readonly random: number
}

/** Settles a failed attempt: with the time of the next attempt, or as dead with a reason once the time is over. It has no side effects. */
export function settleFailedAttempt(
  { error, attempt, firstAttemptAt, now, random }: FailedAttempt,
  policy: RetryPolicy,
): Settlement {
  const description = describeFailure(error)
  if (error instanceof Undeliverable)
    return { state: 'dead', reason: error.isSuppressed ? 'suppressed' : 'refused', error: description }
  const giveUpAt = (firstAttemptAt ?? now) + policy.giveUpAfterMs
  if (now >= giveUpAt)
    return { state: 'dead', reason: 'given_up', error: `given up after ${attempt} tries: ${description}` }
  // The time is a whole number of milliseconds, because the store keeps integers.
  return {
    state: 'later',
    dueAt: Math.ceil(Math.min(giveUpAt, now + computeRetryDelay({ error, attempt, random }, policy))),
    reason: 'unavailable',
    error: description,
  }
}

interface PostponedAttempt extends Omit<FailedAttempt, 'error'> {
  /** ms. */
  readonly waitUntil: number
  readonly reason: DeliveryReason
  readonly description: string
}

/** The longest jitter. Deliveries that wait for the same time are spread over a tenth of their wait, at most a minute. */
const maxJitterMs = 60_000

/** Settles a delivery to a paused host: postponed without counting an attempt, or dead if its time is over. It has no side effects. */
export function settlePostponed(
  { waitUntil, reason, description, attempt, firstAttemptAt, now, random }: PostponedAttempt,
  { giveUpAfterMs }: RetryPolicy,
): Settlement {
  const giveUpAt = (firstAttemptAt ?? now) + giveUpAfterMs
  if (now >= giveUpAt)
    return { state: 'dead', reason: 'given_up', error: `given up after ${attempt - 1} tries: ${description}` }
  const jitterMs = Math.min(maxJitterMs, (waitUntil - now) / 10)
  // The last attempt is at the very end, because the host may be back by then.
  const dueAt = Math.ceil(Math.min(giveUpAt, waitUntil + jitterMs * random))
  return { state: 'later', dueAt, reason, error: description, isUncounted: true }
}

/**
 * The number of attempts that follow `Retry-After` even if it is shorter than the backoff. After them the longer wait counts, because a server that
 * always asks for one second would otherwise get requests all day.
 */
const maxHonoredAttempts = 10
const minRetryAfterMs = 1_000

/** Returns the wait that the server's `Retry-After` demands; without one, exponential backoff with jitter over its upper half. */
function computeRetryDelay(
  { error, attempt, random }: Pick<FailedAttempt, 'error' | 'attempt' | 'random'>,
  { initialDelayMs, maxDelayMs }: RetryPolicy,
): number {
  const delayMs = Math.min(maxDelayMs, initialDelayMs * 2 ** (attempt - 1))
  const backoffMs = delayMs * (0.5 + random / 2)
  const retryAfterSeconds = error instanceof Unavailable ? boundRetryAfter(error.retryAfter) : undefined
  if (retryAfterSeconds === undefined) return backoffMs
  const retryAfterMs = Math.max(minRetryAfterMs, retryAfterSeconds * 1000)
  return attempt > maxHonoredAttempts ? Math.max(retryAfterMs, backoffMs) : retryAfterMs
}
