// Refuses changes under a lease that another worker holds.
import { LeaseLost } from '@postern/message'

/** Refuses a change without effect. @throws LeaseLost if the statement that compared the token changed no row */
export function refuseLostLease(changes: number, work: string): void {
  if (changes === 0) throw new LeaseLost(`the lease of ${work} is held by somebody else or its work is over`)
}
