import type { IntakeSteps, Proof } from '@postern/core'
import { Rejection } from '@postern/core'
import type { Activity } from '../format/document.ts'
import { idOf, parseIri } from '../format/document.ts'
import type { RemoteActor } from '../peers/actor-document.ts'
import type { FindKeyOwner } from '../peers/document-fetch.ts'
import type { IsBlocked, RemoteActors } from '../peers/known-peers.ts'
import { asPeersFault, findSigner, keyOf, proveSigner } from '../peers/known-peers.ts'
import type { RequestProof } from '../signature/request-proof.ts'
import { verifyObjectProof } from './object-integrity.ts'
import type { DeletedActor, ProvenActivity, VerifiedDelivery } from './proven-activity.ts'

/** What it takes to find out who has signed a request. */
export interface VerifyFetchDeps {
  readonly actors: RemoteActors
  readonly findKeyOwner: FindKeyOwner
  readonly isBlocked: IsBlocked
  /** The configured origin that peers sign for. */
  readonly origin: string
  readonly windowMs: number
  now(): number
}

/** How long after its proof an activity may still be forwarded. */
const maxCarriedMs = 86_400_000

/**
 * An activity that another server forwards. Its HTTP signature proves only the carrier; the document's own proof
 * (FEP-8b32) proves the actor. An old proof does not count, or anyone with a copy could replay it.
 * @throws Rejection, Unavailable
 */
export async function verifyCarried(
  { activity, bytes, arrival }: Pick<ProvenActivity, 'activity' | 'bytes' | 'arrival'>,
  proof: RequestProof,
  parts: VerifyFetchDeps & { readonly steps: IntakeSteps },
): Promise<VerifiedDelivery> {
  const { steps } = parts
  const carrierAt = steps.now()
  const carrier = await identifySigner(proof, parts)
  steps.note({ kind: 'http-signature', verdict: 'none', key_id: proof.keyId }, carrierAt)
  const objectAt = steps.now()
  const from = parts.actors.knows(activity.actor) ? 'cache' : 'fetched'
  const actor = await asPeersFault(() => parts.actors.find(activity.actor))
  if (!actor) return endOfGone(activity, parts.actors)
  const notBefore = parts.now() - maxCarriedMs
  const objectProof = await verifyObjectProof({ activity, bytes, actor, notBefore }, parts)
  if (objectProof) steps.note(objectProof, objectAt, { from, key: keyOf(actor, objectProof.key_id) })
  if (objectProof?.verdict !== 'pass') {
    const reason = objectProof?.reason ?? 'there is none'
    throw new Rejection('signer_mismatch', `Cannot verify activity: its own proof does not hold, ${reason}`)
  }
  const reason = `it proves only who passes the activity on, ${carrier.id}`
  const byCarrier: Proof = {
    kind: 'http-signature',
    verdict: 'none',
    reason,
    key_id: proof.keyId,
    scheme: proof.scheme,
  }
  const proofs = [byCarrier, digestProof, objectProof]
  const proven = {
    activity,
    actor,
    bytes,
    arrival,
    receivedAt: parts.now(),
    keyId: undefined,
    objectKeyId: objectProof.key_id,
    proofs,
  }
  return proven as unknown as ProvenActivity
}

/** Every proven activity has it. */
export const digestProof: Proof = { kind: 'digest', verdict: 'pass' }

/** Servers announce the end of an actor to all they know, when its key can no longer be had; 401 would make them repeat it. */
export function endOfGone({ type, json, actor }: Activity, actors: RemoteActors): DeletedActor | 'nothing' {
  if (type === 'Delete' && idOf(json.object) === actor.href)
    return actors.isGone(actor) ? { gone: actor.href } : 'nothing'
  throw new Rejection('signature_invalid', 'Cannot verify activity: its actor is gone')
}

/**
 * The signer of a request, whatever its content, by the key's owner and the owner's document.
 * @throws Rejection, Unavailable
 */
export async function identifySigner(
  proof: RequestProof,
  { isBlocked, findKeyOwner, actors }: Pick<VerifyFetchDeps, 'isBlocked' | 'findKeyOwner' | 'actors'>,
): Promise<RemoteActor> {
  const key = readKeyId(proof.keyId)
  if (isBlocked(key.host)) throw new Rejection('forbidden', 'Cannot accept request: the host that signs it is blocked')
  const iri = await asPeersFault(() => findKeyOwner(key))
  const wasKnown = actors.knows(iri)
  const actor = await findSigner(iri, actors)
  if (!actor) throw new Rejection('signature_invalid', 'Cannot verify request: its signer is gone')
  return proveSigner({ iri, actor, proof, wasKnown }, actors)
}

function readKeyId(keyId: string) {
  try {
    return parseIri(keyId, "its signer's key")
  } catch (cause) {
    throw new Rejection('signature_invalid', 'Cannot verify request: its key has no https IRI', { cause })
  }
}
