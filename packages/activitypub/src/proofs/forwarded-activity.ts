// Verifies an activity that another server forwards, by the proof in its document (FEP-8b32).
import type { Proof } from '@postern/message'
import { Rejection } from '@postern/message'
import type { IntakeSteps } from '@postern/pipeline'
import type { IsBlocked } from '../domains/blocklist.ts'
import type { Activity } from '../format/activity.ts'
import { parseIri } from '../format/iri.ts'
import { idOf } from '../format/json-object.ts'
import type { ActorCache } from '../peers/actor-cache.ts'
import type { RemoteActor } from '../peers/actor-document.ts'
import type { FindKeyOwner } from '../peers/document-fetch.ts'
import { findProofKey } from '../peers/proof-key.ts'
import { blamePeer, findSigner, proveSigner } from '../peers/signer.ts'
import type { RequestSignature } from '../signature/request-signature.ts'
import { verifyObjectProof } from './object-integrity.ts'
import type { DeletedActor, IncomingActivity, VerifiedInboxRequest } from './proven-activity.ts'
import { createProvenActivity } from './proven-activity.ts'

/** The dependencies for finding out who has signed a request. */
export interface SignerDeps {
  readonly actors: ActorCache
  readonly findKeyOwner: FindKeyOwner
  readonly isBlocked: IsBlocked
  /** The configured origin that peers sign for. */
  readonly origin: string
  readonly windowMs: number
  now(): number
}

/** The oldest proof with which a forwarded activity is accepted, ms. */
const maxForwardedAgeMs = 86_400_000

/**
 * Verifies an activity that another server forwards. Its HTTP signature proves only the forwarder, so the document's own proof (FEP-8b32) must
 * prove the actor. An old proof is rejected, or anyone with a copy could replay the activity.
 * @throws Rejection, Unavailable
 */
export async function verifyForwardedActivity(
  receivedActivity: IncomingActivity,
  signature: RequestSignature,
  deps: SignerDeps & { readonly steps: IntakeSteps },
): Promise<VerifiedInboxRequest> {
  const forwarderProof = await identifyForwarder(signature, deps)
  const { activity, bytes } = receivedActivity
  const { actors, steps } = deps
  const proofStartedAt = steps.now()
  const keySource = actors.hasCached(activity.actor) ? 'cache' : 'fetched'
  const actor = await blamePeer(() => actors.find(activity.actor))
  if (!actor) return acceptOnlyDeletion(activity, actors)
  const notBefore = deps.now() - maxForwardedAgeMs
  const objectProof = await verifyObjectProof({ activity, bytes, actor, notBefore }, deps)
  if (objectProof)
    steps.recordCheck(objectProof, proofStartedAt, { from: keySource, key: findProofKey(actor, objectProof.key_id) })
  const passedProof = requirePassedProof(objectProof, 'signer_mismatch')
  return createProvenActivity({
    ...receivedActivity,
    actor,
    receivedAt: deps.now(),
    keyId: undefined,
    objectKeyId: passedProof.key_id,
    proofs: [forwarderProof, digestProof, passedProof],
  })
}

/** Finds the server that forwards an activity, and returns the record of its signature, which proves nothing about the actor. */
async function identifyForwarder(
  signature: RequestSignature,
  deps: SignerDeps & { readonly steps: IntakeSteps },
): Promise<Proof> {
  const { scheme, keyId } = signature
  const startedAt = deps.steps.now()
  const forwarder = await identifySigner(signature, deps)
  deps.steps.recordCheck({ kind: 'http-signature', verdict: 'none', key_id: keyId }, startedAt)
  const reason = `it proves only who passes the activity on, ${forwarder.id}`
  return { kind: 'http-signature', verdict: 'none', reason, key_id: keyId, scheme }
}

/** Returns a proof that passed. @throws Rejection with `code` for any other */
export function requirePassedProof(proof: Proof | undefined, code: 'signer_mismatch' | 'signature_invalid'): Proof {
  if (proof?.verdict === 'pass') return proof
  const reason = proof?.reason ?? 'there is none'
  throw new Rejection(code, `Cannot verify activity: its own proof does not hold, ${reason}`)
}

/** The record of a passed digest check. */
export const digestProof: Proof = { kind: 'digest', verdict: 'pass' }

/**
 * Accepts the `Delete` of an actor that is deleted, although nobody can fetch its key any more. Servers send it to every peer they know, and
 * would repeat it after a 401.
 * @throws Rejection `signature_invalid` for any other activity
 */
export function acceptOnlyDeletion({ type, json, actor }: Activity, actors: ActorCache): DeletedActor | 'ignored' {
  if (type === 'Delete' && idOf(json.object) === actor.href)
    return actors.isGone(actor) ? { deletedActor: actor.href } : 'ignored'
  throw new Rejection('signature_invalid', 'Cannot verify activity: its actor is gone')
}

/** Finds the signer of a request, regardless of its content, by the key's owner and the owner's document. @throws Rejection, Unavailable */
export async function identifySigner(
  signature: RequestSignature,
  { isBlocked, findKeyOwner, actors }: Pick<SignerDeps, 'isBlocked' | 'findKeyOwner' | 'actors'>,
): Promise<RemoteActor> {
  const key = readKeyId(signature.keyId)
  if (isBlocked(key.host)) throw new Rejection('forbidden', 'Cannot accept request: the host that signs it is blocked')
  const iri = await blamePeer(() => findKeyOwner(key))
  const wasKnown = actors.hasCached(iri)
  const actor = await findSigner(iri, actors)
  if (!actor) throw new Rejection('signature_invalid', 'Cannot verify request: its signer is gone')
  return proveSigner({ iri, actor, signature, wasCached: wasKnown }, actors)
}

function readKeyId(keyId: string) {
  try {
    return parseIri(keyId, "its signer's key")
  } catch (cause) {
    throw new Rejection('signature_invalid', 'Cannot verify request: its key has no https IRI', { cause })
  }
}
