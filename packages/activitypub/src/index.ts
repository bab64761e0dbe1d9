import type { AgentDirectory, Channel, ChannelContext } from '@postern/core'
import { Rejection } from '@postern/core'
import type { ChannelModule } from '@postern/http'
import type { Hono } from 'hono'
import { announceActors } from './actors/actor-update.ts'
import { createCollections } from './actors/collections.ts'
import { createFollowDecision } from './actors/follow-requests.ts'
import { createReaders } from './actors/readers.ts'
import { createBackground } from './background/background.ts'
import { createRemotePosts } from './background/remote-posts.ts'
import type { ChannelDeps } from './channel-deps.ts'
import { createChannelDeps } from './channel-deps.ts'
import type { ActivityPubConfig } from './config.ts'
import { activityPubConfigSchema } from './config.ts'
import { readDomainLists } from './domains/lists.ts'
import { agentIris, instanceActorIri } from './format/own-iris.ts'
import { retargetAlone } from './format/reply-target.ts'
import { activityJson } from './format/vocabulary.ts'
import { createInbound } from './inbound.ts'
import { createFormerAgents } from './keys/former-agents.ts'
import { listPublishedKeys, rotateActorKeys } from './keys/published-keys.ts'
import { createOutbound } from './outbound.ts'
import { renderFediverseInvitation } from './pages/invitation.ts'
import { createPublicProfiles } from './pages/public-profile.ts'
import { createPrincipalFinder } from './peers/principal.ts'
import { rehearseInbox } from './rehearse.ts'
import { createActivityReplay } from './replay.ts'
import { createRoutes } from './routes.ts'
import { activityPubDescriptor } from './speaker.ts'

export type { ActivityPubConfig } from './config.ts'
export { activityPubConfigSchema } from './config.ts'
export { activityPubDescriptor } from './speaker.ts'

/** Opens the channel: activities come in through inboxes, signed posts go out. @throws ConfigError */
export function openActivityPub(config: ActivityPubConfig, context: ChannelContext): Channel<Hono> {
  const { agents } = context
  const { origin } = agents
  const deps = createChannelDeps(config, context)
  const { keys, isBlocked, fetchDocument, now } = deps
  return {
    ...createOutbound(config, context, deps),
    ...openPages(config, context, deps),
    replay: createActivityReplay(config, context),
    isAnnounced: true,
    openPaths: ['actor', 'agents', 'inbox'],
    describeAgent: ({ name }) => ({ activitypub: { actor: agentIris(origin, name).actor } }),
    renderInvitation: agent => renderFediverseInvitation(agent, agents.domain, config.follows),
    isFormerAgent: createFormerAgents(deps.store, agents),
    addressesFiles: true,
    privateScope: subject => subject,
    retarget: retargetAlone,
    findPrincipal: createPrincipalFinder(deps),
    fetchBackground: createBackground({ ...deps, posts: createRemotePosts({ fetchDocument, isBlocked, now }) }),
    gatewayLinks: [{ rel: 'self', type: activityJson, href: instanceActorIri(origin) }],
    links: agent => [{ rel: 'self', type: activityJson, href: agentIris(origin, agent).actor }],
    publishedKeys: () => listPublishedKeys(keys, findActors(agents)),
    rehearse: (agent, fetch) => rehearseInbox(agent, fetch, deps),
    decideFollow: createFollowDecision(deps.store, origin),
    async rotateKeys(agent, options) {
      const rotated = await rotateActorKeys(keys, findActors(agents, agent), options)
      const names = agent === undefined ? agents.list().map(({ name }) => name) : [agent]
      await announceActors(names, { ...deps, gateway: { origin, follows: config.follows } })
      return rotated
    },
  }
}

/** Everything that peers and browsers fetch, and the inboxes. */
function openPages(
  config: ActivityPubConfig,
  { admission, fileAddress, showRequirement }: ChannelContext,
  deps: ChannelDeps,
): Pick<Channel<Hono>, 'routes' | 'readProfile'> {
  const { platform, store, agents, origin, keys, handles, isBlocked } = deps
  const { follows } = config
  const readers = createReaders(config.require_signed_fetch, deps)
  return {
    routes: createRoutes({
      agents,
      store,
      admission,
      platform,
      keys,
      collections: createCollections(store, { origin, fileAddress }),
      follows,
      posts: { store, handles, origin, fileAddress, showRequirement },
      readers,
      pages: { store, agents, domain: agents.domain, origin, isBlocked, fileAddress },
      isFormerAgent: createFormerAgents(store, agents),
      inbound: createInbound(config, deps),
    }),
    readProfile: createPublicProfiles({ store, agents, fileAddress, follows, isSignedOnly: readers.isSignedOnly }),
  }
}

/** The actor of one agent, or all actors of this gateway. @throws Rejection `no_recipient` */
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

/** As the gateway's list has it. */
export const activityPub: ChannelModule<ActivityPubConfig, 'activitypub'> = {
  descriptor: activityPubDescriptor,
  configSchema: activityPubConfigSchema,
  open: openActivityPub,
  readFiles: readDomainLists,
  keepsFiles: ({ keep_files }) => keep_files,
}
