// Decides who may read an ActivityPub document: everyone, signed requests only, or the addressees of a post.
import { Rejection, Unavailable } from '@postern/message'
import type { RelationStore } from '@postern/pipeline'
import type { RemoteActor } from '../peers/actor-document.ts'
import { ignoreFaults } from '../peers/peer-faults.ts'
import type { FoundPost } from '../posts/posts.ts'
import type { SignerDeps } from '../proofs/forwarded-activity.ts'
import { identifySigner } from '../proofs/forwarded-activity.ts'
import { isSigned, readRequestSignature } from '../signature/read-request-signature.ts'
import { toSignedRequest } from '../signature/request-signature.ts'

export type ReadAccess = ReturnType<typeof createReadAccess>

/** Creates the checks that decide who may read our documents. */
export function createReadAccess(isSignedOnly: boolean, deps: SignerDeps) {
  return {
    /** True if documents are shown to signed requests only. */
    isSignedOnly,
    /** Admits everyone, or only signed requests if that is configured. @throws Rejection, Unavailable */
    async admit(request: Request): Promise<void> {
      if (isSignedOnly && !(await verifySignedFetch(request, deps))) {
        throw new Rejection('unsigned', 'Cannot show document: sign the request')
      }
    },
    /**
     * Finds the actor that sends a request. A reader without a valid proof is a stranger, regardless of the reason. For strangers, documents with
     * a limited audience do not exist.
     */
    identify: (request: Request) => ignoreFaults([Rejection, Unavailable], () => verifySignedFetch(request, deps)),
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
 * Returns true if this actor may read a post that is not public. Its addressees may, and so may the followers if it is for
 * followers only. An actor that blocks the agent may read nothing.
 */
export async function mayRead(
  reader: RemoteActor,
  post: FoundPost,
  store: Pick<RelationStore, 'findRelation'>,
): Promise<boolean> {
  const key = { via: 'activitypub', agent: post.publishedResponse.agent, peer: reader.id } as const
  if (await store.findRelation({ ...key, relation: 'blocked_by' })) return false
  if (await post.isFor(reader)) return true
  if (post.visibility !== 'followers') return false
  return (await store.findRelation({ ...key, relation: 'follower' })) !== undefined
}
