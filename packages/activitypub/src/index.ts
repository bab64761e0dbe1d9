import type { Channel, ChannelContext, Json } from '@postern/core'
import type { ChannelModule } from '@postern/http'
import type { Hono } from 'hono'
import { createCollections } from './actors/collections.ts'
import { createFollowDecision } from './actors/follow-requests.ts'
import { createKeyRotation } from './actors/key-rotation.ts'
import { createReaders } from './actors/readers.ts'
import type { ChannelDeps } from './channel.ts'
import {
  createActivityReplay,
  createBackgroundFetch,
  createChannelDeps,
  createInbound,
  createOutbound,
} from './channel.ts'
import type { ActivityPubConfig } from './config.ts'
import { activityPubConfigSchema } from './config.ts'
import { readDomainLists } from './domains/lists.ts'
import { activityJson, agentIris, instanceActorIri, readReplyTarget, toJson } from './format/document.ts'
import { createPublicProfiles, renderFediverseInvitation } from './pages/public-profile.ts'
import { createPrincipalFinder } from './peers/known-peers.ts'
import { rehearseInbox } from './rehearse.ts'
import { createFormerAgents, createRoutes } from './routes.ts'
import { activityPubDescriptor } from './speaker.ts'

export type { ActivityPubConfig } from './config.ts'
export { activityPubConfigSchema } from './config.ts'
export { activityPubDescriptor } from './speaker.ts'

/** Opens the channel: activities come in through inboxes, signed posts go out. @throws ConfigError */
export function openActivityPub(config: ActivityPubConfig, context: ChannelContext): Channel<Hono> {
  const { agents } = context
  const { origin } = agents
  const deps = createChannelDeps(config, context)
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
    fetchBackground: createBackgroundFetch(deps),
    gatewayLinks: [{ rel: 'self', type: activityJson, href: instanceActorIri(origin) }],
    links: agent => [{ rel: 'self', type: activityJson, href: agentIris(origin, agent).actor }],
    ...createKeyRotation({ ...deps, gateway: { origin, follows: config.follows } }),
    rehearse: (agent, fetch) => rehearseInbox(agent, fetch, deps),
    decideFollow: createFollowDecision(deps.store, origin),
  }
}

/** Everything that peers and browsers fetch, and the inboxes. */
function openPages(
  config: ActivityPubConfig,
  { admission, fileAddress, showRequirement }: ChannelContext,
  deps: ChannelDeps,
): Pick<Channel<Hono>, 'routes' | 'readProfile'> {
  const { store, agents, origin } = deps
  const { follows } = config
  const readers = createReaders(config.require_signed_fetch, deps)
  return {
    routes: createRoutes({
      ...deps,
      admission,
      collections: createCollections(store, { origin, fileAddress }),
      follows,
      posts: { ...deps, fileAddress, showRequirement },
      readers,
      pages: { ...deps, domain: agents.domain, fileAddress },
      isFormerAgent: createFormerAgents(store, agents),
      inbound: createInbound(config, deps),
    }),
    readProfile: createPublicProfiles({ store, agents, fileAddress, follows, isSignedOnly: readers.isSignedOnly }),
  }
}

/** As the gateway's list has it. */
export const activityPub: ChannelModule<ActivityPubConfig, 'activitypub'> = {
  descriptor: activityPubDescriptor,
  configSchema: activityPubConfigSchema,
  open: openActivityPub,
  readFiles: readDomainLists,
  keepsFiles: ({ keep_files }) => keep_files,
}

/** An answer there that only its author reads. */
function retargetAlone(target: Json): Json | undefined {
  const reply = readReplyTarget(target)
  return reply?.inbox ? toJson({ ...reply, visibility: 'direct' }) : undefined
}
