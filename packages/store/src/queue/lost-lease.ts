// Refuses changes under a lease that has been lost.
import { LeaseLost } from '@postern/message'

/** Throws if the statement that compared the token of a lease has changed no row. @throws LeaseLost */
export function refuseLostLease(changes: number, work: string): void {
  if (changes === 0) throw new LeaseLost(`the lease of ${work} is held by somebody else or its work is over`)
}
