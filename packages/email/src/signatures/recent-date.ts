// Recognizes mail with a recent `Date` that its proof covers.
import type { HeaderBlock } from '../mail/header.ts'
import { findField } from '../mail/header.ts'

const dayMs = 86_400_000

/**
 * The largest age is the time for which a server retries a mail (RFC 5321 §4.5.4.1). The author's clock may be an hour
 * ahead.
 */
const [maxAgeMs, maxAheadMs] = [5 * dayMs, 3_600_000]

/** Returns true if a mail was written recently, according to its covered `Date`. `now` is in ms. */
export function isRecent(signedHeader: HeaderBlock, now: number): boolean {
  const ageMs = now - Date.parse(findField(signedHeader, 'date') ?? '')
  return ageMs < maxAgeMs && ageMs > -maxAheadMs
}
