import type { RemoteActors } from './actor-cache.ts'
import type { IsBlocked } from './blocklist.ts'
import { identifySigner } from './carried-activity.ts'
import type { FindKeyOwner } from './key-owner.ts'
import type { RemoteActor } from './remote-actor.ts'
import { isSigned, readRequestProof } from './signature/request-proof.ts'
import { toSignedRequest } from './signature/signed-request.ts'

export interface VerifyFetchDeps {
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
export async function verifySignedFetch(request: Request, parts: VerifyFetchDeps): Promise<RemoteActor | undefined> {
  if (!isSigned(request.headers)) return undefined
  const proof = readRequestProof(toSignedRequest(request, parts.origin))
  proof.checkTimes({ now: parts.now(), windowMs: parts.windowMs })
  return identifySigner(proof, parts)
}
