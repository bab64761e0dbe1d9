// Records the proof of a caller in the record of a message.

import type { Proof } from '@postern/message'
import type { IntakeSteps, UsedKey } from '@postern/pipeline'

/** The keys that have proven a request before. Such a key was fetched then and comes from the cache now. */
const provenBefore = new WeakSet<UsedKey>()

/** Records the proof of the caller of a request. The check began at `since`. */
export function recordCallerProof(
  steps: IntakeSteps,
  startedAt: number,
  { proof, usedKey }: { readonly proof: Proof; readonly usedKey?: UsedKey | undefined },
): void {
  const isKnown = usedKey !== undefined && provenBefore.has(usedKey) && usedKey.from === 'fetched'
  if (usedKey) provenBefore.add(usedKey)
  steps.recordCheck(proof, startedAt, isKnown ? { ...usedKey, from: 'cache' } : usedKey)
}
