// Verifies an activity on a request without a signature by its own proof.
import type { HeaderFields } from '@postern/http'
import type { Proof } from '@postern/message'
import type { IntakeSteps } from '@postern/pipeline'
import type { RemoteActor } from '../peers/actor-document.ts'
import { findProofKey } from '../peers/proof-key.ts'
import { blamePeer, findSigner } from '../peers/signer.ts'
import { checkDigest } from '../signature/body-digest.ts'
import { checkContentDigest } from '../signature/rfc9421/message-signature.ts'
import type { SignerDeps } from './forwarded-activity.ts'
import { acceptOnlyDeletion, digestProof, requirePassedProof } from './forwarded-activity.ts'
import { verifyObjectProof } from './object-integrity.ts'
import type { IncomingActivity, VerifiedInboxRequest } from './proven-activity.ts'
import { createProvenActivity } from './proven-activity.ts'

type UnsignedRequest = IncomingActivity & { readonly headers: HeaderFields }

/** The name of the supported cryptosuite. Every document with such a proof contains it. */
const cryptosuiteBytes = Buffer.from('eddsa-jcs-2022')

/** Returns true if a document may contain a proof of its own. A document without a proof need not be parsed. */
export function mayProveItself(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(cryptosuiteBytes)
}

/**
 * Verifies an activity by its own proof alone (FEP-8b32), as Fedify does. The proof covers the content of the whole document, so a digest is
 * optional. If there is a digest, it must match. The age of the proof is limited like the signed time of a request. Target and host are not
 * covered, so the addressing of the activity alone says whom it is for, and its id admits it once.
 * @throws Rejection `signature_invalid`, `signer_mismatch`; Unavailable
 */
export async function verifyUnsignedActivity(
  { headers, ...incomingActivity }: UnsignedRequest,
  deps: SignerDeps & { readonly steps: IntakeSteps },
): Promise<VerifiedInboxRequest> {
  const { activity, bytes } = incomingActivity
  const { actors, steps } = deps
  const hasDigest = checkDigests(headers, bytes)
  const proofStartedAt = steps.now()
  const keySource = actors.hasCached(activity.actor) ? 'cache' : 'fetched'
  const provenActor = await proveActor(incomingActivity, deps)
  if (!provenActor) return acceptOnlyDeletion(activity, actors)
  const { actor, objectProof } = provenActor
  steps.recordCheck(objectProof, proofStartedAt, { from: keySource, key: findProofKey(actor, objectProof.key_id) })
  const noSignature: Proof = { kind: 'http-signature', verdict: 'none', reason: 'the request has none' }
  return createProvenActivity({
    ...incomingActivity,
    actor,
    receivedAt: deps.now(),
    keyId: undefined,
    objectKeyId: objectProof.key_id,
    proofs: [noSignature, ...(hasDigest ? [digestProof] : []), objectProof],
  })
}

/**
 * Proves the actor of an activity by the proof in the document. A document that its host shows to everybody is enough to reject a signer. To admit
 * a signer, the host must show the document to us. Returns undefined if there is no such actor.
 */
async function proveActor({ activity, bytes }: IncomingActivity, deps: SignerDeps) {
  const { actors } = deps
  const notBefore = deps.now() - deps.windowMs
  const verifyProof = async (actor: RemoteActor) =>
    requirePassedProof(await verifyObjectProof({ activity, bytes, actor, notBefore }, deps), 'signature_invalid')
  const claimedActor = await findSigner(activity.actor, actors)
  if (!claimedActor) return undefined
  const objectProof = await verifyProof(claimedActor)
  const actor = actors.isProvisional(claimedActor) ? await blamePeer(() => actors.find(activity.actor)) : claimedActor
  if (actor && actor !== claimedActor) await verifyProof(actor)
  return actor && { actor, objectProof }
}

/** Returns true if there is a digest, which must be that of the body. @throws Rejection `signature_invalid` */
function checkDigests(headers: HeaderFields, bytes: Uint8Array): boolean {
  const [cavageDigest, contentDigest] = [headers.get('digest'), headers.get('content-digest')]
  if (cavageDigest !== null) checkDigest(cavageDigest, bytes)
  if (contentDigest !== null) checkContentDigest(contentDigest, bytes)
  return cavageDigest !== null || contentDigest !== null
}
