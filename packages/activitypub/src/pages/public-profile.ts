// Collects an agent's fediverse profile for its web page, and renders the line that invites people to follow the agent.
import { escapeHtml, Rejection } from '@postern/message'
import type { AgentDirectory, PublicProfile, RelationStore } from '@postern/pipeline'
import { html } from 'hono/html'
import type { ActivityPubConfig } from '../config.ts'
import { describeInHtml } from '../text/post-html.ts'
import type { RecentPostDeps } from './describe-card.ts'
import { listRecentPosts } from './describe-card.ts'
import { formatFeedUrl } from './page-routes.ts'
import { renderCard } from './render-card.ts'

interface ProfileDeps extends RecentPostDeps {
  readonly store: RecentPostDeps['store'] & Pick<RelationStore, 'countRelations'>
  readonly agents: Pick<AgentDirectory, 'origin' | 'domain' | 'find'>
  readonly follows: ActivityPubConfig['follows']
  /** True if posts require signed requests, so that browsers cannot read them. */
  readonly requiresSignature: boolean
}

const maxPosts = 10

/** Creates the reader of an agent's public fediverse profile, for the agent's page. @throws Rejection `no_recipient` */
export function createPublicProfileReader(deps: ProfileDeps): (agent: string) => Promise<PublicProfile> {
  const { agents, store, follows, requiresSignature } = deps
  return async name => {
    const profile = agents.find(name)
    if (!profile) throw new Rejection('no_recipient', 'Cannot show profile: there is no such agent')
    const posts = requiresSignature ? [] : await listRecentPosts(profile, maxPosts, deps)
    return {
      bio: describeInHtml(profile.description),
      followers: await store.countRelations({ agent: name, via: 'activitypub', relation: 'follower' }),
      follows,
      posts: posts.map(post => String(html`${renderCard(post, 'listed')}`)),
      ...(!requiresSignature && { feed: formatFeedUrl(agents.origin, name) }),
    }
  }
}

const followTexts: Readonly<Record<ActivityPubConfig['follows'], string>> = {
  open: 'Follow it from there, too.',
  manual: 'You may ask to follow it from there; its operator decides.',
  closed: 'It takes no followers.',
}

/** Renders the line of an agent's page that tells people of the fediverse how to reach the agent. */
export function renderFediverseInvitation(
  agent: string,
  domain: string,
  follows: ActivityPubConfig['follows'],
): string {
  const address = escapeHtml(`@${agent}@${domain}`)
  return `From the fediverse: search for <code>${address}</code> on your own server, then mention it in a post. ${followTexts[follows]}`
}
