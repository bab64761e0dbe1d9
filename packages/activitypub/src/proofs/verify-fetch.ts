import type { RemoteActor } from '../peers/remote-actor.ts'
import { isSigned, readRequestProof } from '../signature/request-proof.ts'
import { toSignedRequest } from '../signature/signed-request.ts'
import { identifySigner } from './carried-activity.ts'
import type { VerifyFetchDeps } from './fetch-deps.ts'

/**
 * The actor that asks for a document, by a signature of either kind. Undefined when nobody signed.
 * @throws Rejection, Unavailable
 */
export async function verifySignedFetch(request: Request, parts: VerifyFetchDeps): Promise<RemoteActor | undefined> {
  if (!isSigned(request.headers)) return undefined
  const proof = readRequestProof(toSignedRequest(request, parts.origin))
  proof.checkTimes({ now: parts.now(), windowMs: parts.windowMs })
  return identifySigner(proof, parts)
}
