// Verifies an activity on a request that its own actor signs.
import type { Proof } from '@postern/message'
import type { IntakeSteps } from '@postern/pipeline'
import { findProofKey } from '../peers/proof-key.ts'
import { findSigner, proveSigner } from '../peers/signer.ts'
import type { RequestSignature } from '../signature/request-signature.ts'
import type { SignerDeps } from './forwarded-activity.ts'
import { acceptOnlyDeletion, digestProof } from './forwarded-activity.ts'
import { verifyObjectProof } from './object-integrity.ts'
import type { IncomingActivity, VerifiedInboxRequest } from './proven-activity.ts'
import { createProvenActivity } from './proven-activity.ts'

/**
 * Verifies that the activity's actor lists the key of the signature, and verifies the proof in the document if there is one. The caller has
 * checked the times and the digest.
 * @throws Rejection `signer_mismatch`, `signature_invalid`; Unavailable
 */
export async function verifySignedActivity(
  incomingActivity: IncomingActivity,
  signature: RequestSignature,
  deps: SignerDeps & { readonly steps: IntakeSteps },
): Promise<VerifiedInboxRequest> {
  const { activity, bytes } = incomingActivity
  const { actors, steps } = deps
  const signerCheckStartedAt = steps.now()
  const wasKnown = actors.hasCached(activity.actor)
  const claimedActor = await findSigner(activity.actor, actors)
  if (!claimedActor) return acceptOnlyDeletion(activity, actors)
  const actor = await proveSigner({ iri: activity.actor, actor: claimedActor, signature, wasCached: wasKnown }, actors)
  const keySource = wasKnown && actor === claimedActor ? 'cache' : 'fetched'
  const { scheme, keyId, algorithm, coveredNames: covered } = signature
  const httpSignature: Proof = { kind: 'http-signature', verdict: 'pass', key_id: keyId }
  steps.recordCheck(httpSignature, signerCheckStartedAt, { from: keySource, key: findProofKey(actor, keyId) })
  const proofCheckStartedAt = steps.now()
  const hasProof = activity.json.proof !== undefined
  const objectProof = hasProof ? await verifyObjectProof({ activity, bytes, actor }, deps) : undefined
  if (objectProof)
    steps.recordCheck(objectProof, proofCheckStartedAt, {
      from: keySource,
      key: findProofKey(actor, objectProof.key_id),
    })
  return createProvenActivity({
    ...incomingActivity,
    actor,
    receivedAt: deps.now(),
    keyId,
    objectKeyId: objectProof?.verdict === 'pass' ? objectProof.key_id : undefined,
    proofs: [
      { ...httpSignature, scheme, algorithm, covered: covered.join(' ') },
      digestProof,
      ...(objectProof ? [objectProof] : []),
    ],
  })
}
