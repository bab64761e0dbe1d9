import type { RelationStore } from '@postern/core'
import type { RemoteActor } from '../peers/remote-actor.ts'
import type { FoundPost } from '../posts/posts.ts'

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
