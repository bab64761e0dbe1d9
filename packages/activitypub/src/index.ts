// Assembles the ActivityPub channel from its configuration and the gateway around it.
import type { ChannelModule } from '@postern/http'
import type { Json } from '@postern/message'
import type { Channel, ChannelContext } from '@postern/pipeline'
import type { Hono } from 'hono'
import type { ActorRemovalDeps } from './actors/actor-removal.ts'
import { createCollections } from './actors/collections.ts'
import { createFollowDecision } from './actors/follow-requests.ts'
import { createKeyRotation } from './actors/key-rotation.ts'
import { createReadAccess } from './actors/read-access.ts'
import { createBackgroundFetch } from './channel/background-fetch.ts'
import type { ChannelDeps } from './channel/deps.ts'
import { createChannelDeps } from './channel/deps.ts'
import { createInbound } from './channel/inbound.ts'
import { createOutbound } from './channel/outbound.ts'
import { createActivityReplay } from './channel/replay.ts'
import type { ActivityPubConfig } from './config.ts'
import { activityPubConfigSchema } from './config.ts'
import { readDomainLists } from './domains/domain-files.ts'
import { activityJson } from './format/media-types.ts'
import { agentIris, instanceActorIri } from './format/own-iris.ts'
import { readReplyTarget, toStoredJson } from './format/targets.ts'
import { createPublicProfileReader, renderFediverseInvitation } from './pages/public-profile.ts'
import { createFormerAgents, createRoutes } from './routes.ts'
import { selfTestInbox } from './self-test.ts'
import { activityPubDescriptor } from './speaker.ts'
import { createPrincipalFinder } from './webfinger/principal-finder.ts'

export type { ActivityPubConfig } from './config.ts'
export { activityPubConfigSchema } from './config.ts'
export { activityPubDescriptor } from './speaker.ts'

/** Opens the channel, which receives activities through inboxes and delivers signed posts. @throws ConfigError */
export function openActivityPub(config: ActivityPubConfig, context: ChannelContext): Channel<Hono> {
  const { agents } = context
  const { origin } = agents
  const isFormerAgent = createFormerAgents(context.store, agents)
  const deps = { ...createChannelDeps(config, context), isFormerAgent }
  const outbound = createOutbound(config, context, deps)
  return {
    ...outbound,
    ...openEndpoint(config, context, deps),
    conversations: {
      fetchBackground: createBackgroundFetch(deps),
      privateScope: subject => subject,
      retarget: retargetToAuthor,
    },
    peers: {
      findPrincipal: createPrincipalFinder(deps),
      decideFollow: createFollowDecision(deps.store, origin),
    },
    keys: createKeyRotation({ ...deps, gateway: { origin, follows: config.follows } }),
    diagnostics: {
      ...outbound.diagnostics,
      replay: createActivityReplay(config, context),
      selfTest: (agent, fetches) => selfTestInbox(agent, fetches, deps),
    },
  }
}

/** Opens the inboxes, the documents that peers and browsers fetch, and the links by which they find agents. */
function openEndpoint(
  config: ActivityPubConfig,
  { admission, fileAddress, showRequirement }: ChannelContext,
  deps: ChannelDeps & Pick<ActorRemovalDeps, 'isFormerAgent'>,
): Pick<Channel<Hono>, 'endpoint' | 'discovery'> {
  const { store, agents, origin, isFormerAgent } = deps
  const { follows } = config
  const readAccess = createReadAccess({ ...deps, requiresSignature: config.require_signed_fetch })
  return {
    endpoint: {
      routes: createRoutes({
        ...deps,
        admission,
        collections: createCollections(store, { origin, fileAddress }),
        follows,
        posts: { ...deps, fileAddress, showRequirement },
        readAccess,
        pages: { ...deps, domain: agents.domain, fileAddress },
        inbound: createInbound(config, deps),
      }),
    },
    discovery: {
      describeAgent: ({ name }) => ({ activitypub: { actor: agentIris(origin, name).actor } }),
      renderInvitation: agent => renderFediverseInvitation(agent, agents.domain, follows),
      links: agent => [{ rel: 'self', type: activityJson, href: agentIris(origin, agent).actor }],
      gatewayLinks: [{ rel: 'self', type: activityJson, href: instanceActorIri(origin) }],
      readProfile: createPublicProfileReader({
        store,
        agents,
        fileAddress,
        follows,
        requiresSignature: readAccess.requiresSignature,
      }),
      isFormerAgent,
    },
  }
}

/** The entry for the gateway's list of channels. */
export const activityPub: ChannelModule<ActivityPubConfig, 'activitypub'> = {
  descriptor: activityPubDescriptor,
  configSchema: activityPubConfigSchema,
  open: openActivityPub,
  readFiles: readDomainLists,
  keepsFiles: ({ keep_files }) => keep_files,
}

/** Retargets an answer so that only the author of the message reads it. */
function retargetToAuthor(target: Json): Json | undefined {
  const reply = readReplyTarget(target)
  return reply?.inbox ? toStoredJson({ ...reply, visibility: 'direct' }) : undefined
}
