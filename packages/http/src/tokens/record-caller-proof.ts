// Records the proof of a caller in the record of a message.

import type { Proof } from '@postern/message'
import type { IntakeSteps, UsedKey } from '@postern/pipeline'

/** The keys that have proven an earlier request. A key that was fetched for that request comes from the cache now. */
const provenKeys = new WeakSet<UsedKey>()

/** Records the proof of a request's caller. `startedAt` is the time when the check began. */
export function recordCallerProof(
  steps: IntakeSteps,
  startedAt: number,
  { proof, usedKey }: { readonly proof: Proof; readonly usedKey?: UsedKey | undefined },
): void {
  const isCached = usedKey !== undefined && provenKeys.has(usedKey) && usedKey.from === 'fetched'
  if (usedKey) provenKeys.add(usedKey)
  steps.recordCheck(proof, startedAt, isCached ? { ...usedKey, from: 'cache' } : usedKey)
}
