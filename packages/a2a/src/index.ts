import type { Channel, ChannelContext } from '@postern/core'
import { createSender, loadOptional, renderUnsent } from '@postern/core'
import type { ChannelModule } from '@postern/http'
import { joinTokenRules } from '@postern/http/tokens'
import type { Hono } from 'hono'
import { describeForCallers, renderCallInvitation } from './cards/card.ts'
import { createCards } from './cards/signed-cards.ts'
import { createAgentCaller } from './client/agent-client.ts'
import { rehearseCall } from './client/rehearse-call.ts'
import type { A2aConfig } from './config.ts'
import { a2aConfigSchema } from './config.ts'
import { createTaskDelivery } from './deliver.ts'
import { createLargeAnswers } from './endpoint/answers.ts'
import type { OwnKeyRing } from './keys/own-keys.ts'
import { createKeySetRoute, createOwnIssuer, createOwnKeyRing, describeKey } from './keys/own-keys.ts'
import { createOperations, guardOperations } from './operations/operations.ts'
import {
  addressTask,
  describeTask,
  previewTaskTarget,
  renderDelivery,
  showDelivery,
  showTaskRequirements,
} from './render.ts'
import { createCallReplay } from './replay.ts'
import { createA2aRoutes } from './routes.ts'
import { a2aDescriptor } from './speaker.ts'
import { createFeeds } from './streams/feeds.ts'
import { createExpiry, createTaskWaiter } from './tasks/lifetime.ts'
import { createCursors } from './tasks/own-tasks.ts'
import { createVerifyCaller, openChallenger, readScopeTable } from './verify.ts'

export { createAgentCaller } from './client/agent-client.ts'
export type { FinishedAnswer } from './client/answer-state.ts'
export type { FoundCard } from './client/cards/find.ts'
export { findCard, readInterface } from './client/cards/find.ts'
export { verifyCard } from './client/cards/verify.ts'
export type { FollowTaskDeps } from './client/follow-task.ts'
export { followTask, readTask } from './client/follow-task.ts'
export type { A2aConfig } from './config.ts'
export { a2aConfigSchema } from './config.ts'

/** The gRPC binding and its libraries are loaded only where they are switched on. @throws ConfigError if they are not installed */
function loadGrpc(): Promise<typeof import('./grpc/listener.ts')> {
  return loadOptional(() => import('./grpc/listener.ts'), {
    key: 'a2a.grpc',
    libraries: ['@grpc/grpc-js', '@bufbuild/protobuf'],
  })
}

/** A2A 1.0 over JSON-RPC, HTTP+JSON and gRPC: agents call ours, and get their answer in the call. */
export function openA2a(whole: A2aConfig, gateway: ChannelContext): Channel<Hono> {
  const config = boundHops(whole, gateway.maxHops)
  const { store, platform, agents, showRequirement } = gateway
  const keys = createOwnKeyRing(gateway)
  const endpoint = openEndpoint(config, gateway, keys)
  const sender = createSender({
    descriptor: a2aDescriptor,
    address: addressTask,
    render: delivery => renderDelivery(showDelivery(delivery, showRequirement)),
    describe: describeTask,
    deliver: createTaskDelivery({ store, platform, timeoutMs: config.limits.push_seconds * 1000 }),
  })
  const { grpc } = config
  const client = { config, platform, store, origin: agents.origin }
  return {
    ...sender,
    routes: endpoint.routes,
    preview: ({ turn, response }) =>
      renderUnsent(sender, { turn: { ...turn, target: previewTaskTarget(response) }, response }),
    replay: createCallReplay(config, gateway),
    isAnnounced: true,
    openPaths: ['a2a', 'agents'],
    operationPaths: /^(\/agents\/[^/]+)?\/a2a\/rest\//,
    describeAgent: (agent, { extensions }) => ({
      a2a: describeForCallers(agent, {
        origin: agents.origin,
        config,
        extensions,
        isAnonymous: config.auth.anonymous,
      }),
    }),
    renderInvitation: agent => renderCallInvitation(agent, agents.origin),
    callAgent: createAgentCaller(client),
    rehearse: (agent, fetch) => rehearseCall(`@${agent}@${agents.domain}`, fetch, client),
    ...(grpc && { listen: async former => (await loadGrpc()).openGrpcListener(atPortOf(grpc, former), endpoint.deps) }),
    links: () => [],
    publishedKeys: async () => (await keys.list()).map(describeKey),
    rotateKeys: async agent => (agent === undefined ? [describeKey(await keys.rotate())] : []),
    release: endpoint.release,
  }
}

/** What callers reach: the operations in every binding, and the keys. */
function openEndpoint(config: A2aConfig, gateway: ChannelContext, keys: OwnKeyRing) {
  const { store, platform, agents } = gateway
  const { limits } = config
  const challenger = openChallenger(config, agents.domain)
  const cards = createCards({ config, gateway, keys })
  const tasks = showTaskRequirements(store, gateway.showRequirement)
  const waiter = createTaskWaiter(tasks, platform)
  const feeds = createFeeds(
    { store: tasks, platform },
    { perCaller: limits.streams_per_caller, idleMs: limits.stream_idle_seconds * 1000 },
  )
  const expiry = createExpiry(gateway, {
    taskMs: config.task_ttl,
    most: limits.tasks_per_caller,
    bytes: limits.bytes_per_caller,
  })
  const cursors = createCursors(store, platform)
  const operations = createOperations({ config, gateway, tasks, waiter, cursors, feeds, cards, challenger, expiry })
  const deps = {
    config,
    gateway,
    largeAnswers: createLargeAnswers(),
    cards,
    verifyCaller: createVerifyCaller(config, gateway, challenger, createOwnIssuer(keys, agents.origin)),
    operations: guardOperations(operations, { table: readScopeTable(config), challenger }),
  }
  const routes = createA2aRoutes(deps)
  routes.route('/', createKeySetRoute(keys))
  return {
    deps,
    routes,
    release() {
      expiry.close()
      waiter.close()
      feeds.close()
    },
  }
}

export { a2aDescriptor } from './speaker.ts'

/** A free port that was found once is kept. */
function atPortOf<At extends { readonly port: number }>(config: At, former: { readonly port: number } | undefined): At {
  return config.port === 0 && former ? { ...config, port: former.port } : config
}

/** No chain of agents is longer than the gateway allows. */
function boundHops(config: A2aConfig, maxHops = Number.POSITIVE_INFINITY): A2aConfig {
  const { limits } = config
  return { ...config, limits: { ...limits, max_hops: Math.min(limits.max_hops, maxHops) } }
}

/** As the gateway's list has it. */
export const a2a: ChannelModule<A2aConfig, 'a2a'> = {
  descriptor: a2aDescriptor,
  configSchema: a2aConfigSchema,
  open: openA2a,
  tokens: {
    of: ({ auth }) => auth,
    scopesOf: ({ auth }) => auth.scopes,
    join: (config, other) => ({ ...config, auth: joinTokenRules(config.auth, other) }),
  },
  simulatedDefaults: ({ origin, issuers }) => [
    ['a2a/auth/issuers', issuers.map(issuer => ({ ...issuer, audience: `${origin}/a2a` }))],
  ],
}
