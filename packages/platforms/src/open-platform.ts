// Opens the channel of one platform: adapter, intake, answers.
import type { GuardedFetch, Json, OutgoingAction, System } from '@postern/message'
import { ConfigError, parseJsonText } from '@postern/message'
import type { Addressing, Channel, ChannelContext, ChannelDescriptor, Inbound } from '@postern/pipeline'
import { createSender } from '@postern/pipeline'
import type { RecordStore } from '@postern/transcript'
import type { Hono } from 'hono'
import { loadAdapter } from './adapters/adapters.ts'
import type { PlatformConfig } from './config.ts'
import { deliverPosts } from './deliver.ts'
import { listDeletions, normalizeRequest } from './normalize.ts'
import type { OpenedPlatform, Platform } from './platform.ts'
import type { Posts } from './posts.ts'
import { createPosts } from './posts.ts'
import { addressPosts, choosePostTarget, planDelivery, renderPosts } from './render.ts'
import type { ResolvedRequest } from './resolve.ts'
import { resolveRequest } from './resolve.ts'
import { createPlatformRoutes } from './routes.ts'
import type { AnsweredRequest } from './verify.ts'
import { verifyRequest } from './verify.ts'

/** The dependencies of a platform besides those of every channel. */
export interface PlatformContext extends ChannelContext {
  /** The folder of the configuration file, from which adapters are loaded first. */
  readonly baseDir: string
  /** The store of small records, which remembers posts. */
  readonly records: RecordStore
  readonly system: System & {
    /** Returns a guarded fetch that may also reach this one origin of the configuration. */
    fetchFor(origin: string): GuardedFetch
  }
}

interface PlatformParts<Config extends PlatformConfig> {
  readonly platform: Platform<Config>
  readonly descriptor: ChannelDescriptor & { readonly evidenceMethod: string }
  readonly config: Config
}

/** Opens the channel of a platform. @throws ConfigError if its adapter is not installed */
export async function openPlatform<Config extends PlatformConfig>(
  { platform, descriptor, config }: PlatformParts<Config>,
  context: PlatformContext,
): Promise<Channel<Hono>> {
  const { system, fileAddress, showRequirement, records } = context
  checkAgents(platform.name, config, context)
  const library = await loadAdapter({ ...platform, baseDir: context.baseDir })
  const posts = createPosts(platform.name, records, system.now)
  const opened = platform.open({
    config,
    library,
    fetch: system.fetchFor(new URL(config.api_url ?? platform.apiUrl).origin),
    log: system.log,
    now: system.now,
    hasAnswered: posts.hasAnswered,
  })
  const { maxPostChars } = platform
  const renderDeps = { maxPostChars, prepareText: opened.prepareText, fileAddress, showRequirement }
  const sender = createSender({
    descriptor,
    address: addressPosts,
    render: delivery => renderPosts(delivery, renderDeps),
    describe: rendered => parseJsonText(JSON.stringify(rendered)) as Json,
    deliver: (rendered, delivery) => deliverPosts(rendered, delivery, { opened, posts }),
  })
  const inbound = createInbound({ platform, descriptor, config, opened, posts }, context)
  return {
    ...sender,
    endpoint: { routes: createPlatformRoutes({ name: platform.name, inbound, gateway: context }) },
    actions: { address: addressRevision },
    conversations: { privateScope: subject => subject },
  }
}

/** Refuses names of agents that the gateway does not have. @throws ConfigError */
function checkAgents(name: string, config: PlatformConfig, { agents }: Pick<PlatformContext, 'agents'>): void {
  const names = [...Object.keys(config.agents), ...(config.default_agent === undefined ? [] : [config.default_agent])]
  const unknownName = names.find(agent => !agents.find(agent))
  if (unknownName === undefined) return
  const key = unknownName === config.default_agent ? 'default_agent' : `agents.${unknownName}`
  const fix = 'Name an agent of "agents".'
  throw new ConfigError(`platforms.${name}.${key}`, `there is no agent "${unknownName}"`, fix)
}

interface InboundParts {
  readonly platform: Platform<never>
  readonly descriptor: { readonly name: string; readonly evidenceMethod: string }
  readonly config: PlatformConfig
  readonly opened: OpenedPlatform
  readonly posts: Posts
}

/** Joins the steps of incoming events. */
function createInbound(
  { platform, descriptor, config, opened, posts }: InboundParts,
  { agents, store, system }: PlatformContext,
): Inbound<AnsweredRequest, ResolvedRequest> {
  const via = platform.name
  return {
    name: via,
    async verify(request, steps) {
      const proven = await verifyRequest(request, steps, { platform, opened, now: system.now })
      return resolveRequest(proven, { via, opened, config, agents, store, posts })
    },
    normalize: request => normalizeRequest(request, { platform: descriptor, domain: agents.domain }),
    listWithdrawals: listDeletions,
  }
}

/** Returns the delivery of an edit or a deletion. Agents post nothing here unasked. */
function addressRevision(action: OutgoingAction): Addressing | undefined {
  if (action.act !== 'edit' && action.act !== 'delete') return undefined
  return planDelivery({ ...choosePostTarget(action.target, action.response), revision: action.act })
}
