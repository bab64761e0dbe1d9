// Joins the steps that turn an activity in an inbox into messages to agents.

import type { Inbound } from '@postern/pipeline'
import type { ActivityPubConfig } from '../config.ts'
import type { InboxDeps, ResolvedInboxRequest } from '../inbox/activity-kind.ts'
import { normalizeInboxRequest, readWithdrawals } from '../normalize.ts'
import { createCreatedPostFetch } from '../peers/document-fetch.ts'
import { createUnusedLimit, resolveInboxRequest } from '../resolve.ts'
import type { InboxRequest } from '../verify.ts'
import { verifyInboxRequest } from '../verify.ts'
import type { ChannelDeps } from './deps.ts'
import { addFacts, createFactRecorder } from './facts.ts'

const hourMs = 3_600_000

/** The shortest time, in ms, in which a person can read a response and write another message. Faster messages are counted as automated. */
const automatedReplyMs = 3_000

/** Creates the inbound side of the channel. */
export function createInbound(
  config: ActivityPubConfig,
  deps: ChannelDeps,
): Inbound<InboxRequest, ResolvedInboxRequest> {
  const { agents, isBlocked, fetchDocument, now } = deps
  const gateway: InboxDeps = {
    agents,
    isBlocked,
    follows: config.follows,
    maxMentions: config.max_mentions,
    quotas: {
      machines: { turns: config.bot_turns_per_hour, withinMs: hourMs },
      people: { turns: config.rapid_turns_per_hour, withinMs: hourMs, automatedReplyMs },
    },
  }
  const resolveDeps = {
    ...deps,
    gateway,
    fetchCreatedPost: createCreatedPostFetch({ fetchDocument, now }),
    mayListUnused: createUnusedLimit(now),
  }
  return {
    name: 'activitypub',
    async verify(raw, steps) {
      const facts = createFactRecorder(deps.store, raw.facts)
      const verified = await verifyInboxRequest(raw, deps, steps)
      const requestDeps = { ...resolveDeps, store: facts.store, agent: raw.agent }
      const resolved = await resolveInboxRequest(verified, requestDeps, steps)
      return addFacts(resolved, facts.list())
    },
    normalize: normalizeInboxRequest,
    listWithdrawals: readWithdrawals,
    describeUnused: resolved => (resolved !== 'ignored' && 'unused' in resolved ? resolved.unused : undefined),
  }
}
