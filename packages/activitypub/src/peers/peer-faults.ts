// Ignores expected errors that a peer causes.
import type { Rejection, Unavailable, Undeliverable } from '@postern/message'

type PeerFault = typeof Unavailable | typeof Undeliverable | typeof Rejection

/** Returns the result of `query`, or undefined if `query` throws one of `faults`. */
export async function ignoreFaults<Result>(
  faults: readonly PeerFault[],
  query: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await query()
  } catch (error) {
    if (faults.some(Fault => error instanceof Fault)) return undefined
    throw error
  }
}
