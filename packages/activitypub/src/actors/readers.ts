import type { RelationStore } from '@postern/core'
import { Rejection, Unavailable } from '@postern/core'
import type { RemoteActor } from '../peers/actor-document.ts'
import { unless } from '../peers/look-ups.ts'
import type { FoundPost } from '../posts/posts.ts'
import type { VerifyFetchDeps } from '../proofs/carried-activity.ts'
import { identifySigner } from '../proofs/carried-activity.ts'
import { toSignedRequest } from '../signature/request-proof.ts'
import { isSigned, readRequestProof } from '../verify.ts'

export type Readers = ReturnType<typeof createReaders>

/** The readers of our documents. */
export function createReaders(isSignedOnly: boolean, parts: VerifyFetchDeps) {
  return {
    /** Whether documents are shown to signed requests only. */
    isSignedOnly,
    /** Lets in everyone, or only those who sign. @throws Rejection, Unavailable */
    async admit(request: Request): Promise<void> {
      if (isSignedOnly && !(await verifySignedFetch(request, parts))) {
        throw new Rejection('unsigned', 'Cannot show document: sign the request')
      }
    },
    /**
     * The actor that asks. A reader without proof is a stranger, whatever the reason; documents for others do not exist
     * for strangers.
     */
    identify: (request: Request) => unless([Rejection, Unavailable], () => verifySignedFetch(request, parts)),
  }
}

/**
 * The actor that asks for a document, by a signature of either kind. Undefined when nobody signed.
 * @throws Rejection, Unavailable
 */
async function verifySignedFetch(request: Request, parts: VerifyFetchDeps): Promise<RemoteActor | undefined> {
  if (!isSigned(request.headers)) return undefined
  const proof = readRequestProof(toSignedRequest(request, parts.origin))
  proof.checkTimes({ now: parts.now(), windowMs: parts.windowMs })
  return identifySigner(proof, parts)
}

/**
 * Whether this actor may read a post that is not public: its addressees may, and for a followers-only post the
 * followers. An actor that blocks the agent may read nothing.
 */
export async function mayRead(
  reader: RemoteActor,
  post: FoundPost,
  store: Pick<RelationStore, 'findRelation'>,
): Promise<boolean> {
  const key = { via: 'activitypub', agent: post.answered.agent, peer: reader.id } as const
  if (await store.findRelation({ ...key, relation: 'blocked_by' })) return false
  if (await post.isFor(reader)) return true
  if (post.visibility !== 'followers') return false
  return (await store.findRelation({ ...key, relation: 'follower' })) !== undefined
}
