import type { AgentDirectory, Channel, ChannelContext, Inbound, Outbound } from '@postern/core'
import { createSender, defaultMaxMentions, Rejection } from '@postern/core'
import type { Hono } from 'hono'
import { announceActors } from './actors/actor-update.ts'
import { createCollections } from './actors/collections.ts'
import { createFollowDecision } from './actors/follow-requests.ts'
import { createKeyIntroductions } from './actors/key-introductions.ts'
import { createReaders } from './actors/readers.ts'
import { createBackground } from './background/background.ts'
import { createRemotePosts } from './background/remote-posts.ts'
import type { ActivityPubConfig } from './config.ts'
import { parseDuration } from './config.ts'
import { createFindBytes, deliverActivity } from './deliver.ts'
import { findHost } from './format/iri.ts'
import { agentIris, instanceActorIri } from './format/own-iris.ts'
import { retargetAlone } from './format/reply-target.ts'
import { activityJson } from './format/vocabulary.ts'
import type { InboxDeps } from './inbox/activity-kind.ts'
import { createFormerAgents } from './keys/former-agents.ts'
import { createKeyRing } from './keys/keys.ts'
import { createOutgoingProof } from './keys/outgoing-proof.ts'
import { listPublishedKeys, rotateActorKeys } from './keys/published-keys.ts'
import { normalizeDelivery, readWithdrawals } from './normalize.ts'
import { addressAction, expandToFollowers } from './outbox/address-action.ts'
import { addressAnswer } from './outbox/address-answer.ts'
import { createPublicProfiles } from './pages/public-profile.ts'
import { createActorCache } from './peers/actor-cache.ts'
import { createBlocklist } from './peers/blocklist.ts'
import { createDeletedActors } from './peers/deleted-actors.ts'
import { createDocumentFetch } from './peers/document-fetch.ts'
import { createDoubleKnock } from './peers/double-knock.ts'
import { createForeignInboxes } from './peers/foreign-inbox.ts'
import type { PeerLimits } from './peers/peer-limits.ts'
import { createPeerLimits } from './peers/peer-limits.ts'
import { createPrincipalFinder } from './peers/principal.ts'
import { createUnreachableInboxes } from './peers/unreachable-inboxes.ts'
import { createHandles } from './peers/webfinger.ts'
import { createCreatedPosts } from './posts/created-post.ts'
import type { OutgoingActivity } from './posts/outgoing.ts'
import { createDeliveryRenderer, describeOutgoing } from './posts/outgoing.ts'
import { createKeyOwners } from './proofs/key-owner.ts'
import type { ResolvedDelivery } from './resolve.ts'
import { resolveDelivery } from './resolve.ts'
import { createRoutes } from './routes.ts'
import { activityPubDescriptor } from './speaker.ts'
import type { InboxRequest } from './verify.ts'
import { verifyDelivery } from './verify.ts'

export type { ActivityPubConfig } from './config.ts'
export { activityPubConfigSchema } from './config.ts'
export type { IsFormerAgent } from './keys/former-agents.ts'
export { createFormerAgents } from './keys/former-agents.ts'

const hourMs = 3_600_000
/** After an answer of ours no person has read it and written another message so soon. */
const swiftMs = 3_000

/** Opens the fediverse's door: inboxes in, signed posts out. @throws ConfigError */
export function openActivityPub(
  config: ActivityPubConfig,
  { platform, store, agents, fileAddress, showRequirement, maxMentions = defaultMaxMentions }: ChannelContext,
): Channel<Hono> {
  const { origin } = agents
  const now = () => platform.now()
  const keys = createKeyRing({ store, origin, now })
  const send = createDoubleKnock({ fetch: platform.fetch, now })
  const isListed = createBlocklist(config)
  // Agents of one gateway speak to each other, whoever else is let in.
  const ownHosts: ReadonlySet<string> = new Set([agents.domain, new URL(origin).hostname])
  const isBlocked = (host: string) => !ownHosts.has(host) && isListed(host)
  const fetchDocument = createDocumentFetch({
    platform,
    send,
    keys,
    isBlocked,
    instanceActor: instanceActorIri(origin),
  })
  const shared = {
    platform,
    store,
    send,
    keys,
    agents,
    origin,
    now,
    actors: createActorCache({ fetchDocument, now }),
    findKeyOwner: createKeyOwners({ fetchDocument, now }),
    proveOutgoing: createOutgoingProof(config.object_proofs),
    handles: createHandles({ fetch: platform.fetch, now, isBlocked }),
    isBlocked,
    windowMs: parseDuration(config.date_window),
  }
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
  const foreignInboxes = createForeignInboxes({ store, platform })
  const fetchCreatedPost = createCreatedPosts({ fetchDocument, now })
  const understanding = { ...shared, gateway, foreignInboxes, fetchCreatedPost }
  const inbound: Inbound<InboxRequest, ResolvedDelivery> = {
    name: 'activitypub',
    verify: async raw => resolveDelivery(await verifyDelivery(raw, shared), understanding),
    normalize: normalizeDelivery,
    withdrawals: readWithdrawals,
  }
  const limits = createPeerLimits({ fetch: platform.fetch, now })
  const addressing = { origin, postLimitOf: createPostLimits(config.split_posts, limits), showRequirement, maxMentions }
  const deletedActors = createDeletedActors({ fetchDocument, store, platform })
  const actorGateway = { origin, follows: config.follows }
  const sending = {
    ...shared,
    limits,
    introductions: createKeyIntroductions({ agents, platform, send, gateway: actorGateway }),
    findBytes: createFindBytes(shared),
    onGone: createUnreachableInboxes({ store, deletedActors, platform }),
  }
  const outbound: Outbound<OutgoingActivity> = {
    descriptor: activityPubDescriptor,
    address: answered => addressAnswer(answered, addressing),
    render: createDeliveryRenderer({ origin, fileAddress, showRequirement }, now),
    describe: describeOutgoing,
    deliver: (wire, delivery) => foreignInboxes.watchDelivery(delivery, () => deliverActivity(wire, delivery, sending)),
  }
  const readers = createReaders(config.require_signed_fetch, shared)
  const posts = { store, handles: shared.handles, origin, fileAddress, showRequirement }
  return {
    ...createSender(outbound),
    addressAction: action => addressAction(action, addressing),
    expand: (_, relations) => expandToFollowers(relations),
    addressesFiles: true,
    privateScope: subject => subject,
    retarget: retargetAlone,
    findPrincipal: createPrincipalFinder(shared),
    routes: createRoutes({
      agents,
      store,
      platform,
      keys,
      collections: createCollections(store, { origin, fileAddress }),
      follows: config.follows,
      posts,
      readers,
      pages: { store, agents, domain: agents.domain, origin, isBlocked, fileAddress },
      isFormerAgent: createFormerAgents(store, agents),
      inbound,
    }),
    fetchBackground: createBackground({ ...shared, posts: createRemotePosts({ fetchDocument, isBlocked, now }) }),
    gatewayLinks: [{ rel: 'self', type: activityJson, href: instanceActorIri(origin) }],
    links: agent => [{ rel: 'self', type: activityJson, href: agentIris(origin, agent).actor }],
    readProfile: createPublicProfiles({
      store,
      agents,
      fileAddress,
      follows: config.follows,
      isSignedOnly: readers.isSignedOnly,
    }),
    publishedKeys: () => listPublishedKeys(keys, findActors(agents)),
    decideFollow: createFollowDecision(store, origin),
    async rotateKeys(agent, options) {
      const rotated = await rotateActorKeys(keys, findActors(agents, agent), options)
      const names = agent === undefined ? agents.list().map(({ name }) => name) : [agent]
      await announceActors(names, { agents, store, keys, platform, gateway: actorGateway })
      return rotated
    },
  }
}

/** Where posts are not split, they may be as long as they like. */
function createPostLimits(isSplit: boolean, limits: PeerLimits): (inbox: string | undefined) => number {
  return inbox => (isSplit ? limits.recall((inbox && findHost(inbox)) ?? '') : Number.MAX_SAFE_INTEGER)
}

/** The actor of one agent, or all there are here. @throws Rejection `no_recipient` */
function findActors(agents: AgentDirectory, agent?: string): readonly string[] {
  const { origin } = agents
  if (agent !== undefined && !agents.find(agent)) {
    throw new Rejection('no_recipient', 'Cannot rotate keys: there is no such agent')
  }
  const names = agent === undefined ? agents.list().map(({ name }) => name) : [agent]
  return [
    ...names.map(name => agentIris(origin, name).actor),
    ...(agent === undefined ? [instanceActorIri(origin)] : []),
  ]
}

export { activityPubDescriptor } from './speaker.ts'
