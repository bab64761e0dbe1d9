import type { Inbound } from '@postern/core'
import type { ChannelDeps } from './channel-deps.ts'
import type { ActivityPubConfig } from './config.ts'
import { createFacts, withFacts } from './facts.ts'
import type { InboxDeps } from './inbox/activity-kind.ts'
import { normalizeDelivery, readWithdrawals } from './normalize.ts'
import { createCreatedPosts } from './posts/created-post.ts'
import type { ResolvedDelivery } from './resolve.ts'
import { resolveDelivery } from './resolve.ts'
import type { InboxRequest } from './verify.ts'
import { verifyDelivery } from './verify.ts'

const hourMs = 3_600_000
/** No person reads an answer and writes another message in less time. */
const swiftMs = 3_000

/** The way in: an activity in an inbox becomes messages to agents. */
export function createInbound(config: ActivityPubConfig, deps: ChannelDeps): Inbound<InboxRequest, ResolvedDelivery> {
  const { agents, isBlocked, fetchDocument, now } = deps
  const gateway: InboxDeps = {
    agents,
    isBlocked,
    follows: config.follows,
    maxMentions: config.max_mentions,
    quotas: {
      machines: { turns: config.bot_turns_per_hour, withinMs: hourMs },
      people: { turns: config.rapid_turns_per_hour, withinMs: hourMs, swiftMs },
    },
  }
  const resolving = { ...deps, gateway, fetchCreatedPost: createCreatedPosts({ fetchDocument, now }) }
  return {
    name: 'activitypub',
    async verify(raw, steps) {
      const facts = createFacts(deps.store, raw.facts)
      const verified = await verifyDelivery(raw, deps, steps)
      const resolved = await resolveDelivery(verified, { ...resolving, store: facts.store }, steps)
      return withFacts(resolved, facts.found())
    },
    normalize: normalizeDelivery,
    withdrawals: readWithdrawals,
  }
}
