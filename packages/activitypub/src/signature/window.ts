import { isoTime, Rejection } from '@postern/core'
import type { SignatureParameters } from './header.ts'

/** How far a peer's clock may run ahead of ours, ms. */
const skewMs = 5 * 60_000
/** IMF-fixdate and its two obsolete forms all begin with a day's name; `Date.parse` alone would take far more. */
const httpDatePattern = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*\d{2}:\d{2}:\d{2}/

export interface TimeWindow {
  readonly now: number
  readonly windowMs: number
}

/**
 * Every signed time must lie in the window, and `expires` in the future, whether it is signed or not.
 * @throws Rejection `expired`, or `signature_invalid` when a signed time cannot be read
 */
export function checkTimes(parameters: SignatureParameters, date: string | null, window: TimeWindow): void {
  const { covered, created, expires } = parameters
  if (covered.includes('date')) checkTime(parseHttpDate(date), 'Date', window)
  if (covered.includes('(created)')) checkTime(created === undefined ? undefined : created * 1_000, '(created)', window)
  if (expires !== undefined && expires * 1_000 <= window.now) {
    throw new Rejection('expired', 'Cannot verify activity: signature has expired')
  }
}

/** Milliseconds of an HTTP date (RFC 9110 §5.6.7), or undefined when it is none. */
export function parseHttpDate(text: string | null): number | undefined {
  const ms = text && httpDatePattern.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

function checkTime(ms: number | undefined, what: string, { now, windowMs }: TimeWindow): void {
  if (ms === undefined) {
    throw new Rejection('signature_invalid', `Cannot verify activity: ${what} is signed but cannot be read`)
  }
  if (ms < now - windowMs) {
    throw new Rejection('expired', `Cannot verify activity: signed at "${isoTime(ms)}", before the accepted window`)
  }
  if (ms > now + skewMs) {
    throw new Rejection('expired', 'Cannot verify activity: signed in the future')
  }
}
