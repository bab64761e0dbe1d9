import { Rejection } from '@postern/core'
import { findHost, isOnOrigin, parseIri } from '../format/iri.ts'
import type { JsonObject } from '../format/reading.ts'
import { asObject, idOf, listOf, onlyOf } from '../format/reading.ts'
import type { RemoteActor } from '../peers/remote-actor.ts'
import { isKnownProof, maxProofs } from '../signature/object-proof.ts'
import type { RequestProof } from '../signature/request-proof.ts'
import type { VerifyFetchDeps } from './fetch-deps.ts'
import { asPeersFault, findSigner, proveSigner } from './signer.ts'

/**
 * The key by which a document of an actor on another host than the request's signer claims to prove itself (FEP-8b32): another server
 * passes it on. Undefined when the signer is on the actor's own host, or the document has no such proof. Nothing is proven yet.
 */
export function findCarriedKey(document: unknown, keyId: string): string | undefined {
  const json: JsonObject = asObject(document) ?? {}
  const actor = idOf(onlyOf(json.actor))
  if (!actor || findHost(actor) === undefined) return undefined
  const { origin } = parseIri(actor, 'its actor')
  if (isOnOrigin(keyId, origin)) return undefined
  const proofs = listOf(json.proof).slice(0, maxProofs).map(asObject)
  const methods = proofs.map(proof => proof && isKnownProof(proof) && idOf(proof.verificationMethod))
  return methods.find(method => typeof method === 'string' && isOnOrigin(method, origin)) || undefined
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
  const actor = await findSigner(iri, actors)
  if (!actor) throw new Rejection('signature_invalid', 'Cannot verify request: its signer is gone')
  return proveSigner({ iri, actor, proof }, actors)
}

function readKeyId(keyId: string) {
  try {
    return parseIri(keyId, "its signer's key")
  } catch (cause) {
    throw new Rejection('signature_invalid', 'Cannot verify request: its key has no https IRI', { cause })
  }
}
