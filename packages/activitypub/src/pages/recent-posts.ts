import type { AgentDirectory, AgentProfile, LookupStore, ShowRequirement } from '@postern/core'
import { toAnswered } from '../posts/posts.ts'
import type { Answered } from '../posts/render.ts'
import { describeOwnPost } from './own-card.ts'
import type { PostCard } from './post-card.ts'

export interface RecentDeps {
  readonly store: Pick<LookupStore, 'listResponses'>
  readonly agents: Pick<AgentDirectory, 'origin' | 'domain'>
  readonly fileAddress: Answered['fileAddress']
  readonly showRequirement?: ShowRequirement | undefined
}

/** An agent's public posts, newest first. A long answer is listed by its first post. */
export async function listRecentPosts(
  profile: AgentProfile,
  limit: number,
  { store, agents, ...deps }: RecentDeps,
): Promise<readonly PostCard[]> {
  const listed = await store.listResponses({ agent: profile.name, via: 'activitypub', isListed: true, limit })
  const agent = { profile, domain: agents.domain, origin: agents.origin }
  return listed.map(found => describeOwnPost(toAnswered(found, { ...deps, origin: agents.origin }), agent))
}
