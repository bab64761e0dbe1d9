import { EvidenceFault } from '../format/fault.ts'
import { lifetime } from '../format/limits.ts'

/** ms */
export interface ValidityWindow {
  readonly issuedAt: number
  /** The start of its validity, if it is later. */
  readonly notBefore: number
  readonly expiresAt: number
  /** The end of one of its parts, if it is sooner. */
  readonly endsAt: number
}

/** Whether it is valid now, and for ten minutes at most. Clocks may differ by a minute. @throws EvidenceFault */
export function checkWindow({ issuedAt, notBefore, expiresAt, endsAt }: ValidityWindow, now: number): void {
  if (expiresAt <= issuedAt) throw new EvidenceFault('malformed', 'it ends before it begins')
  if (expiresAt - issuedAt > lifetime.longest)
    throw new EvidenceFault('ttl-exceeded', 'it lives longer than 10 minutes')
  if (Math.max(issuedAt, notBefore) > now + lifetime.skew) throw new EvidenceFault('not-yet-valid', 'it is of later')
  if (Math.min(expiresAt, endsAt) + lifetime.skew <= now) throw new EvidenceFault('expired', 'it has expired')
}
