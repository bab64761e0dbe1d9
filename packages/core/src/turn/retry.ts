import { Unavailable, Undeliverable } from '../format/errors.ts'
import type { RetryPolicy } from '../ports/agent/turn-context.ts'
import type { Settlement } from '../ports/records/work.ts'

export const defaultRetryPolicy: RetryPolicy = { baseMs: 15_000, capMs: 6 * 3_600_000, giveUpAfterMs: 48 * 3_600_000 }

export interface FailedTry {
  readonly error: unknown
  /** 1 for the first. */
  readonly attempt: number
  readonly queuedAt: number
  readonly now: number
  /** In [0, 1). */
  readonly chance: number
}

/** What follows from a failed try: later with a time, or dead with a reason. Pure. */
export function settlementFor({ error, attempt, queuedAt, now, chance }: FailedTry, policy: RetryPolicy): Settlement {
  const reason = describeFailure(error)
  if (error instanceof Undeliverable) return { state: 'dead', error: reason }
  // Whole milliseconds: the store keeps times as integers.
  const dueAt = Math.ceil(now + waitFor(error, attempt, chance, policy))
  if (dueAt > queuedAt + policy.giveUpAfterMs) {
    return { state: 'dead', error: `given up after ${attempt} tries: ${reason}` }
  }
  return { state: 'later', dueAt, error: reason }
}

interface Postponed extends Omit<FailedTry, 'error'> {
  /** ms. */
  readonly waitUntil: number
  readonly reason: string
}

/** Those who wait for one moment come back spread over a tenth of the wait, a minute at most. */
const maxJitterMs = 60_000

/** What becomes of a delivery whose host is left alone: later, without counting as a try; dead when its time is over. Pure. */
export function postponementOf(
  { waitUntil, reason, attempt, queuedAt, now, chance }: Postponed,
  { giveUpAfterMs }: RetryPolicy,
): Settlement {
  const end = queuedAt + giveUpAfterMs
  if (now >= end) return { state: 'dead', error: `given up after ${attempt - 1} tries: ${reason}` }
  const expand = Math.min(maxJitterMs, (waitUntil - now) / 10)
  // Once more at the very end: until then the host may have come back.
  const dueAt = Math.ceil(Math.min(end, waitUntil + expand * chance))
  return { state: 'later', dueAt, error: reason, uncounted: true }
}

/** Exponential, with jitter over the upper half; a named `Retry-After` is never undercut, however long it is. */
function waitFor(error: unknown, attempt: number, chance: number, { baseMs, capMs }: RetryPolicy): number {
  const full = Math.min(capMs, baseMs * 2 ** (attempt - 1))
  const backoff = full * (0.5 + chance / 2)
  const asked = error instanceof Unavailable ? (error.retryAfter ?? 0) * 1000 : 0
  return asked > backoff ? asked : backoff
}

/** Our own classes carry a sentence for the operator; anything else is a bug whose text stays in the log. */
export function describeFailure(error: unknown): string {
  const isOurs = error instanceof Unavailable || error instanceof Undeliverable
  if (!isOurs) return 'internal error, see the log'
  const code = findSystemCode(error.cause)
  return code === undefined ? error.message : `${error.message}: ${code}`
}

/** Of the network, DNS and TLS. Other libraries have codes that say less than their sentence. */
const systemCode =
  /^(?:ECONN|EHOST|ENET|ENOTFOUND|EAI_|EPIPE|ETIMEDOUT|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|ERR_TLS_)[A-Z_]{0,40}$/

/** What the system says, such as `ECONNREFUSED`: peers are not told, so that nobody looks for open ports through us. */
function findSystemCode(cause: unknown): string | undefined {
  const code = cause instanceof Error ? (cause as NodeJS.ErrnoException).code : undefined
  return typeof code === 'string' && systemCode.test(code) ? code : undefined
}
