import { Rejection } from '@postern/core'
import type { RemoteActors } from './actor-cache.ts'
import type { IsBlocked } from './blocklist.ts'
import type { Iri } from './iri.ts'
import { parseIri } from './iri.ts'
import type { FindKeyOwner } from './key-owner.ts'
import type { RemoteActor } from './remote-actor.ts'
import { isSigned, readRequestProof } from './signature/request-proof.ts'
import { toSignedRequest } from './signature/signed-request.ts'
import { asPeersFault, findSigner, proveSigner } from './signer.ts'

export interface VerifyFetchParts {
  readonly actors: RemoteActors
  readonly findKeyOwner: FindKeyOwner
  readonly isBlocked: IsBlocked
  readonly origin: string
  readonly windowMs: number
  now(): number
}

/**
 * Who asks for a document, by a signature of either kind. Undefined when nobody signed.
 * @throws Rejection, Unavailable
 */
export async function verifySignedFetch(request: Request, parts: VerifyFetchParts): Promise<RemoteActor | undefined> {
  if (!isSigned(request.headers)) return undefined
  const proof = readRequestProof(toSignedRequest(request, parts.origin))
  proof.checkTimes({ now: parts.now(), windowMs: parts.windowMs })
  const key = readKeyId(proof.keyId)
  if (parts.isBlocked(key.host)) throw new Rejection('forbidden', 'Cannot show document: the host that asks is blocked')
  const iri = await asPeersFault(() => parts.findKeyOwner(key))
  const actor = await findSigner(iri, parts.actors)
  if (!actor) throw new Rejection('signature_invalid', 'Cannot verify request: its signer is gone')
  return proveSigner({ iri, actor, proof }, parts.actors)
}

function readKeyId(keyId: string): Iri {
  try {
    return parseIri(keyId, "its signer's key")
  } catch (cause) {
    throw new Rejection('signature_invalid', 'Cannot verify request: its key has no https IRI', { cause })
  }
}
