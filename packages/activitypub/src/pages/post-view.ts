import type { AgentProfile, LookupStore, ResponseContext } from '@postern/core'
import { findWebAddress } from '../format/iri.ts'
import { postIri } from '../format/own-iris.ts'
import type { IsBlocked } from '../peers/blocklist.ts'
import type { FoundPost } from '../posts/posts.ts'
import { idOfPiece } from '../posts/render.ts'
import { describeOwnPost } from './own-card.ts'
import { describePeerPost } from './peer-card.ts'
import type { PostView } from './post-page.ts'

export interface PageDeps {
  readonly store: Pick<LookupStore, 'readResponseContext'>
  readonly isBlocked: IsBlocked
  readonly domain: string
  readonly origin: string
}

const maxReplies = 50

/** A post with its neighbours in the thread, as far as they are public. */
export async function viewPost(found: FoundPost, profile: AgentProfile, deps: PageDeps): Promise<PostView> {
  const { answered, visibility } = found
  const { response, rendering, piece = 0 } = answered
  const { domain, origin, isBlocked } = deps
  const names = [idOfPiece(answered, piece)]
  const context = await deps.store.readResponseContext(response.id, { names, limit: maxReplies })
  const before = piece === 0 && context.answered ? describePeerPost(context.answered, isBlocked) : undefined
  return {
    post: describeOwnPost(answered, { profile, domain, origin }),
    siteName: domain,
    answered: before,
    answers: piece > 0 ? idOfPiece(answered, piece - 1) : findAnswered(found, isBlocked),
    next: piece + 1 < rendering.pieces ? idOfPiece(answered, piece + 1) : undefined,
    replies: listReplies(context, profile.name, deps),
    isIndexable: visibility === 'public' && profile.isIndexable === true,
  }
}

function findAnswered({ answered: { rendering } }: FoundPost, isBlocked: IsBlocked): string | undefined {
  const address = findWebAddress(rendering.reply?.object)
  return address && !isBlocked(new URL(address).hostname) ? address : undefined
}

function listReplies(
  { replies }: ResponseContext,
  agent: string,
  { isBlocked, origin }: PageDeps,
): PostView['replies'] {
  return replies.flatMap(reply => {
    const post = describePeerPost(reply, isBlocked)
    return post ? [{ post, ...(reply.response && { answer: postIri(origin, agent, reply.response) }) }] : []
  })
}
