// Verifies an activity on a request without a signature by its own proof.
import type { Proof } from '@postern/message'
import { Rejection } from '@postern/message'
import type { IntakeSteps } from '@postern/pipeline'
import type { RemoteActor } from '../peers/actor-document.ts'
import { keyOf } from '../peers/recorded-key.ts'
import { asPeersFault, findSigner } from '../peers/signer.ts'
import { checkDigest } from '../signature/request-proof.ts'
import { checkContentDigest } from '../signature/rfc9421/message-signature.ts'
import type { VerifyFetchDeps } from './carried-activity.ts'
import { digestProof, endOfGone } from './carried-activity.ts'
import { verifyObjectProof } from './object-integrity.ts'
import type { ProvenActivity, VerifiedDelivery } from './proven-activity.ts'

type Unsigned = Pick<ProvenActivity, 'activity' | 'bytes' | 'arrival'> & { readonly headers: Headers }

/** The name of the one kind of proof, which every document with such a proof contains. */
const suiteName = Buffer.from('eddsa-jcs-2022')

/** Returns true if a document may contain a proof of its own. A document without one need not be parsed. */
export function mayProveItself(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(suiteName)
}

/**
 * Verifies an activity by its own proof alone (FEP-8b32), as Fedify does. The proof covers every octet of the document, so no digest is needed,
 * but a digest that is present must be correct. The age of the proof is limited like the signed time of a request. Target and host are not
 * covered, so the addressing of the activity alone says whom it is for, and its id admits it once.
 * @throws Rejection `signature_invalid`, `signer_mismatch`; Unavailable
 */
export async function verifyUnsigned(
  { activity, bytes, arrival, headers }: Unsigned,
  deps: VerifyFetchDeps & { readonly steps: IntakeSteps },
): Promise<VerifiedDelivery> {
  const { actors, steps, windowMs } = deps
  const hasDigest = checkDigests(headers, bytes)
  const objectAt = steps.now()
  const from = actors.knows(activity.actor) ? 'cache' : 'fetched'
  const notBefore = deps.now() - windowMs
  const verify = (actor: RemoteActor) => verifyObjectProof({ activity, bytes, actor, notBefore }, deps)
  const claimed = await findSigner(activity.actor, actors)
  if (!claimed) return endOfGone(activity, actors)
  const objectProof = requirePassed(await verify(claimed))
  // A document that its host shows to everybody is enough to reject a signer. To admit one, the host must show it to us.
  const actor = actors.isProvisional(claimed) ? await asPeersFault(() => actors.find(activity.actor)) : claimed
  if (!actor) return endOfGone(activity, actors)
  if (actor !== claimed) requirePassed(await verify(actor))
  steps.note(objectProof, objectAt, { from, key: keyOf(actor, objectProof.key_id) })
  const noSignature: Proof = { kind: 'http-signature', verdict: 'none', reason: 'the request has none' }
  const proofs = [noSignature, ...(hasDigest ? [digestProof] : []), objectProof]
  const proven = { activity, actor, bytes, arrival, receivedAt: deps.now(), keyId: undefined }
  return { ...proven, objectKeyId: objectProof.key_id, proofs } as unknown as ProvenActivity
}

/** Returns true if there is a digest, which must be that of the body. @throws Rejection `signature_invalid` */
function checkDigests(headers: Headers, bytes: Uint8Array): boolean {
  const [old, current] = [headers.get('digest'), headers.get('content-digest')]
  if (old !== null) checkDigest(old, bytes)
  if (current !== null) checkContentDigest(current, bytes)
  return old !== null || current !== null
}

function requirePassed(proof: Proof | undefined): Proof {
  if (proof?.verdict === 'pass') return proof
  const reason = proof?.reason ?? 'there is none'
  throw new Rejection('signature_invalid', `Cannot verify activity: its own proof does not hold, ${reason}`)
}
