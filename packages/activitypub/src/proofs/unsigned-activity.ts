// Verifies an activity on a request without a signature by its own proof.
import type { Proof } from '@postern/message'
import { Rejection } from '@postern/message'
import type { IntakeSteps } from '@postern/pipeline'
import type { RemoteActor } from '../peers/actor-document.ts'
import { findProofKey } from '../peers/proof-key.ts'
import { findSigner, toPeerFault } from '../peers/signer.ts'
import { checkDigest } from '../signature/request-proof.ts'
import { checkContentDigest } from '../signature/rfc9421/message-signature.ts'
import type { VerifyFetchDeps } from './forwarded-activity.ts'
import { acceptDeletion, digestProof } from './forwarded-activity.ts'
import { verifyObjectProof } from './object-integrity.ts'
import type { ProvenActivity, VerifiedDelivery } from './proven-activity.ts'

type UnsignedRequest = Pick<ProvenActivity, 'activity' | 'bytes' | 'arrival'> & { readonly headers: Headers }

/** The name of the one kind of proof, which every document with such a proof contains. */
const suiteName = Buffer.from('eddsa-jcs-2022')

/** Returns true if a document may contain a proof of its own. A document without one need not be parsed. */
export function mayProveItself(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(suiteName)
}

/**
 * Verifies an activity by its own proof alone (FEP-8b32), as Fedify does. The proof covers the content of the whole document, so no digest is needed,
 * but a digest that is present must be correct. The age of the proof is limited like the signed time of a request. Target and host are not
 * covered, so the addressing of the activity alone says whom it is for, and its id admits it once.
 * @throws Rejection `signature_invalid`, `signer_mismatch`; Unavailable
 */
export async function verifyUnsigned(
  { activity, bytes, arrival, headers }: UnsignedRequest,
  deps: VerifyFetchDeps & { readonly steps: IntakeSteps },
): Promise<VerifiedDelivery> {
  const { actors, steps, windowMs } = deps
  const hasDigest = checkDigests(headers, bytes)
  const proofStartedAt = steps.now()
  const from = actors.knows(activity.actor) ? 'cache' : 'fetched'
  const notBefore = deps.now() - windowMs
  const verify = (actor: RemoteActor) => verifyObjectProof({ activity, bytes, actor, notBefore }, deps)
  const claimedActor = await findSigner(activity.actor, actors)
  if (!claimedActor) return acceptDeletion(activity, actors)
  const objectProof = requirePassed(await verify(claimedActor))
  // A document that its host shows to everybody is enough to reject a signer. To admit one, the host must show it to us.
  const actor = actors.isProvisional(claimedActor) ? await toPeerFault(() => actors.find(activity.actor)) : claimedActor
  if (!actor) return acceptDeletion(activity, actors)
  if (actor !== claimedActor) requirePassed(await verify(actor))
  steps.note(objectProof, proofStartedAt, { from, key: findProofKey(actor, objectProof.key_id) })
  const noSignature: Proof = { kind: 'http-signature', verdict: 'none', reason: 'the request has none' }
  const proofs = [noSignature, ...(hasDigest ? [digestProof] : []), objectProof]
  const proven = { activity, actor, bytes, arrival, receivedAt: deps.now(), keyId: undefined }
  return { ...proven, objectKeyId: objectProof.key_id, proofs } as unknown as ProvenActivity
}

/** Returns true if there is a digest, which must be that of the body. @throws Rejection `signature_invalid` */
function checkDigests(headers: Headers, bytes: Uint8Array): boolean {
  const [cavageDigest, contentDigest] = [headers.get('digest'), headers.get('content-digest')]
  if (cavageDigest !== null) checkDigest(cavageDigest, bytes)
  if (contentDigest !== null) checkContentDigest(contentDigest, bytes)
  return cavageDigest !== null || contentDigest !== null
}

function requirePassed(proof: Proof | undefined): Proof {
  if (proof?.verdict === 'pass') return proof
  const reason = proof?.reason ?? 'there is none'
  throw new Rejection('signature_invalid', `Cannot verify activity: its own proof does not hold, ${reason}`)
}
