// Decides whether everyone, only signed requests, or only the addressees of a post may read a document.
import { Rejection, Unavailable } from '@postern/message'
import type { RelationStore } from '@postern/pipeline'
import type { RemoteActor } from '../peers/actor-document.ts'
import { ignoreFaults } from '../peers/peer-faults.ts'
import type { OwnPostView } from '../posts/posts.ts'
import type { SignerDeps } from '../proofs/forwarded-activity.ts'
import { identifySigner } from '../proofs/forwarded-activity.ts'
import { isSigned, readRequestSignature } from '../signature/read-request-signature.ts'
import { toSignedRequest } from '../signature/request-signature.ts'

export type ReadAccess = ReturnType<typeof createReadAccess>

/** Creates the checks that decide who may read our documents. */
export function createReadAccess(deps: SignerDeps & { readonly requiresSignature: boolean }) {
  const { requiresSignature } = deps
  return {
    /** True if only signed requests may read documents. */
    requiresSignature,
    /** Admits everyone, or only signed requests if that is configured. @throws Rejection, Unavailable */
    async admit(request: Request): Promise<void> {
      if (requiresSignature && !(await verifySignedFetch(request, deps))) {
        throw new Rejection('unsigned', 'Cannot show document: sign the request')
      }
    },
    /**
     * Finds the actor that sends a request. Returns undefined for a reader without a valid proof, regardless of the reason. For such a reader,
     * documents with a limited audience do not exist.
     */
    identifyReader: (request: Request) =>
      ignoreFaults([Rejection, Unavailable], () => verifySignedFetch(request, deps)),
  }
}

/**
 * Finds the actor that requests a document, by a signature of either scheme. Returns undefined if the request has no signature.
 * @throws Rejection, Unavailable
 */
async function verifySignedFetch(request: Request, deps: SignerDeps): Promise<RemoteActor | undefined> {
  if (!isSigned(request.headers)) return undefined
  const signature = readRequestSignature(toSignedRequest(request, deps.origin))
  signature.checkTimes({ now: deps.now(), windowMs: deps.windowMs })
  return identifySigner(signature, deps)
}

/**
 * Returns true if this actor may read a post that is not public. The addressees may read the post, and so may the
 * followers if it is for followers only. An actor that blocks the agent may read nothing.
 */
export async function mayRead(
  reader: RemoteActor,
  post: OwnPostView,
  store: Pick<RelationStore, 'findRelation'>,
): Promise<boolean> {
  const key = { via: 'activitypub', agent: post.publishedResponse.agent, peer: reader.id } as const
  if (await store.findRelation({ ...key, relation: 'blocked_by' })) return false
  if (await post.isAddressedTo(reader)) return true
  if (post.visibility !== 'followers') return false
  return (await store.findRelation({ ...key, relation: 'follower' })) !== undefined
}
