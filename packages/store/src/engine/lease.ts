import { LeaseLost } from '@postern/core'

/** @throws LeaseLost when the statement that compared the token changed nothing */
export function refuseLostLease(changes: number, work: string): void {
  if (changes === 0) throw new LeaseLost(`the lease of ${work} is held by somebody else or its work is over`)
}
