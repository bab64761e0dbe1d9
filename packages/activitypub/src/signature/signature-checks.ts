// Checks the times of a signature of either scheme, and reads the header fields that the signature covers.
import type { HeaderFields } from '@postern/http'
import { isoTime, Rejection } from '@postern/message'

/** The most time by which a peer's clock may be ahead of ours, ms. */
const maxSkewMs = 5 * 60_000

export interface TimeWindow {
  readonly now: number
  readonly windowMs: number
}

/**
 * Checks that a signed time, in ms since the epoch, lies in the window.
 * @throws Rejection `expired`, or `signature_invalid` if the time could not be read
 */
export function checkSignedTime(ms: number | undefined, label: string, { now, windowMs }: TimeWindow): void {
  if (ms === undefined) {
    throw new Rejection('signature_invalid', `Cannot verify activity: ${label} is signed but cannot be read`)
  }
  if (ms < now - windowMs) {
    throw new Rejection('expired', `Cannot verify activity: signed at "${isoTime(ms)}", before the accepted window`)
  }
  if (isAheadOfClock(ms, now)) throw new Rejection('expired', 'Cannot verify activity: signed in the future')
}

/** Checks that `expires`, in seconds since the epoch, lies in the future, whether it is signed or not. @throws Rejection `expired` */
export function checkExpiry(expires: number | undefined, { now }: TimeWindow): void {
  if (expires !== undefined && expires * 1_000 <= now) {
    throw new Rejection('expired', 'Cannot verify activity: signature has expired')
  }
}

/** Returns true if a time is in the future by more than the accepted difference of clocks. */
export function isAheadOfClock(ms: number, now: number): boolean {
  return ms > now + maxSkewMs
}

/** Converts a time in seconds since the epoch to ms. */
export function toMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1_000
}

/** Reads a header field that a signature covers, by its name. */
export function readField(headers: HeaderFields, name: string): string | null {
  return /^[a-z0-9-]+$/.test(name) ? headers.get(name) : null
}

export function rejectSignature(problem: string): Rejection {
  return new Rejection('signature_invalid', `Cannot verify activity: signature is invalid, ${problem}`)
}
