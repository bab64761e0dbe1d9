// Decides when a failed turn or delivery is tried again.

import type { DeliveryReason } from '@postern/message'
import { Unavailable, Undeliverable } from '@postern/message'
import type { Settlement } from '../ports/records/work/settlement.ts'
import type { RetryPolicy } from '../ports/turn/retry-policy.ts'
import { describeFailure } from './describe-failure.ts'

export const defaultRetryPolicy: RetryPolicy = { baseMs: 15_000, capMs: 6 * 3_600_000, giveUpAfterMs: 48 * 3_600_000 }

export interface FailedTry {
  readonly error: unknown
  /** 1 for the first. */
  readonly attempt: number
  /** The time at which it was first tried or postponed, in ms; default: now. Earlier time, such as a pause of the gateway, does not count. */
  readonly triedAt?: number | undefined
  readonly now: number
  /** A random number in [0, 1), for the jitter. */
  readonly chance: number
}

/** Returns the settlement of a failed attempt: a later one at a given time, the last of them at the very end; or dead, with a reason. Pure. */
export function settlementFor({ error, attempt, triedAt, now, chance }: FailedTry, policy: RetryPolicy): Settlement {
  const sentence = describeFailure(error)
  if (error instanceof Undeliverable)
    return { state: 'dead', reason: error.isSuppressed ? 'suppressed' : 'refused', error: sentence }
  const end = (triedAt ?? now) + policy.giveUpAfterMs
  if (now >= end) return { state: 'dead', reason: 'given_up', error: `given up after ${attempt} tries: ${sentence}` }
  // Whole milliseconds: the store keeps times as integers.
  return {
    state: 'later',
    dueAt: Math.ceil(Math.min(end, now + waitFor(error, attempt, chance, policy))),
    reason: 'unavailable',
    error: sentence,
  }
}

interface Postponed extends Omit<FailedTry, 'error'> {
  /** ms. */
  readonly waitUntil: number
  readonly reason: DeliveryReason
  readonly sentence: string
}

/** The longest jitter. Deliveries that wait for the same time are spread over a tenth of their wait, at most a minute. */
const maxJitterMs = 60_000

/** Settles a delivery to a host that gets no requests for now: later, without counting an attempt; dead if its time is over. Pure. */
export function postponementOf(
  { waitUntil, reason, sentence, attempt, triedAt, now, chance }: Postponed,
  { giveUpAfterMs }: RetryPolicy,
): Settlement {
  const end = (triedAt ?? now) + giveUpAfterMs
  if (now >= end)
    return { state: 'dead', reason: 'given_up', error: `given up after ${attempt - 1} tries: ${sentence}` }
  const expand = Math.min(maxJitterMs, (waitUntil - now) / 10)
  // The last attempt is at the very end, because the host may be back by then.
  const dueAt = Math.ceil(Math.min(end, waitUntil + expand * chance))
  return { state: 'later', dueAt, reason, error: sentence, uncounted: true }
}

/**
 * The number of attempts that follow `Retry-After` even if it is shorter than the backoff. After them the longer wait counts, because a server that
 * always asks for one second would otherwise get requests all day.
 */
const namedTries = 10
const leastNamedMs = 1_000

/** Returns the wait that the server's `Retry-After` demands; without one, exponential backoff with jitter over its upper half. */
function waitFor(error: unknown, attempt: number, chance: number, { baseMs, capMs }: RetryPolicy): number {
  const full = Math.min(capMs, baseMs * 2 ** (attempt - 1))
  const backoff = full * (0.5 + chance / 2)
  if (!(error instanceof Unavailable) || error.retryAfter === undefined) return backoff
  const asked = Math.max(leastNamedMs, error.retryAfter * 1000)
  return attempt > namedTries ? Math.max(asked, backoff) : asked
}
