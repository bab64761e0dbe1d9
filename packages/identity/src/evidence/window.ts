import { EvidenceFault } from '../format/fault.ts'
import { lifetime } from '../format/limits.ts'

/** ms */
export interface ValidityWindow {
  readonly issuedAt: number
  /** Where the evidence says it counts only from later on. */
  readonly notBefore: number
  readonly expiresAt: number
  /** Where a part of it says that it ends sooner. */
  readonly endsAt: number
}

/** Whether it lives at most ten minutes, and now; clocks may differ by a minute. @throws EvidenceFault */
export function checkWindow({ issuedAt, notBefore, expiresAt, endsAt }: ValidityWindow, now: number): void {
  if (expiresAt <= issuedAt) throw new EvidenceFault('malformed', 'it ends before it begins')
  if (expiresAt - issuedAt > lifetime.longest)
    throw new EvidenceFault('ttl-exceeded', 'it lives longer than 10 minutes')
  if (Math.max(issuedAt, notBefore) > now + lifetime.skew) throw new EvidenceFault('not-yet-valid', 'it is of later')
  if (Math.min(expiresAt, endsAt) + lifetime.skew <= now) throw new EvidenceFault('expired', 'it has expired')
}
