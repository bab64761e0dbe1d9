import { isoTime, Rejection } from '@postern/core'

/** How far a peer's clock may run ahead of ours, ms. */
const skewMs = 5 * 60_000
/** IMF-fixdate and its two obsolete forms all begin with a day's name; `Date.parse` alone accepts far more. */
const httpDatePattern = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*\d{2}:\d{2}:\d{2}/

export interface TimeWindow {
  readonly now: number
  readonly windowMs: number
}

/**
 * A signed time, ms, must lie in the window.
 * @throws Rejection `expired`, or `signature_invalid` when it could not be read
 */
export function checkSignedTime(ms: number | undefined, what: string, { now, windowMs }: TimeWindow): void {
  if (ms === undefined) {
    throw new Rejection('signature_invalid', `Cannot verify activity: ${what} is signed but cannot be read`)
  }
  if (ms < now - windowMs) {
    throw new Rejection('expired', `Cannot verify activity: signed at "${isoTime(ms)}", before the accepted window`)
  }
  if (isAhead(ms, now)) throw new Rejection('expired', 'Cannot verify activity: signed in the future')
}

/** `expires`, seconds, must lie in the future, whether it is signed or not. @throws Rejection `expired` */
export function checkExpiry(expires: number | undefined, { now }: TimeWindow): void {
  if (expires !== undefined && expires * 1_000 <= now) {
    throw new Rejection('expired', 'Cannot verify activity: signature has expired')
  }
}

/** Whether a time is further in the future than clocks differ. */
export function isAhead(ms: number, now: number): boolean {
  return ms > now + skewMs
}

/** Milliseconds of an HTTP date (RFC 9110 §5.6.7), or undefined when it is none. */
export function parseHttpDate(text: string | null): number | undefined {
  const ms = text && httpDatePattern.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}
