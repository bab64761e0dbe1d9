import type { RelationStore } from '@postern/core'
import type { RemoteActor } from '../peers/remote-actor.ts'
import type { FoundPost } from '../posts/posts.ts'

/**
 * Whether a post that is not for everybody is shown to this actor: to whom it is addressed, and to those who follow the
 * agent when it is for them. Whoever has blocked the agent is shown nothing.
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
