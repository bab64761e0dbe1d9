// Opens the A2A channel, by which other agents call the agents of the gateway.
import type { ChannelModule } from '@postern/http'
import { joinTokenRules } from '@postern/http/tokens'
import { loadOptionalLibrary } from '@postern/message'
import type { Channel, ChannelContext } from '@postern/pipeline'
import { createSender, renderUnsent } from '@postern/pipeline'
import type { Hono } from 'hono'
import { openChallenger, readScopeTable } from './auth/schemes.ts'
import { describeForCallers, renderCallInvitation } from './cards/card.ts'
import { createCards } from './cards/signed-cards.ts'
import { createAgentCaller } from './client/agent-client.ts'
import { rehearseCall } from './client/rehearse-call.ts'
import type { A2aConfig } from './config.ts'
import { a2aConfigSchema } from './config.ts'
import { createTaskDelivery } from './deliver.ts'
import { createLargeAnswers } from './endpoint/answers.ts'
import { createTaskOutputModes } from './forms/task-output-modes.ts'
import type { OwnKeyRing } from './keys/own-keys.ts'
import { createKeySetRoute, createOwnIssuer, createOwnKeyRing, describeKey } from './keys/own-keys.ts'
import { sharedOwnerFactor } from './message/person-behind.ts'
import { createOperations, guardOperations } from './operations/operations.ts'
import { createPushReply } from './push/push-reply.ts'
import { addressTask, describeTask, previewTaskTarget, renderDelivery, showDelivery, showTasks } from './render.ts'
import { createCallReplay } from './replay.ts'
import { createA2aRoutes } from './routes.ts'
import { a2aDescriptor } from './speaker.ts'
import { createFeeds } from './streams/feeds.ts'
import { createExpiry } from './tasks/expiry.ts'
import { createCursors } from './tasks/own-tasks.ts'
import { createTaskWaiter } from './tasks/task-waiter.ts'
import { createVerifyCaller } from './verify.ts'

export { createAgentCaller } from './client/agent-client.ts'
export type { FinishedAnswer } from './client/answer-state.ts'
export type { FetchedCard } from './client/cards/find.ts'
export { findCard, readInterface } from './client/cards/find.ts'
export { verifyCard } from './client/cards/verify.ts'
export type { FollowTaskDeps } from './client/follow-task.ts'
export { followTask, readTask } from './client/follow-task.ts'
export type { A2aConfig } from './config.ts'
export { a2aConfigSchema } from './config.ts'

/** Loads the gRPC binding and its libraries, only if gRPC is enabled. @throws ConfigError if they are not installed */
function loadGrpc(): Promise<typeof import('./grpc/listener.ts')> {
  return loadOptionalLibrary(() => import('./grpc/listener.ts'), {
    key: 'a2a.grpc',
    libraries: ['@grpc/grpc-js', '@grpc/reflection', 'grpc-health-check', '@bufbuild/protobuf'],
  })
}

/** Opens the A2A 1.0 channel over JSON-RPC, HTTP+JSON and gRPC. Other agents call ours, and the response to their call contains the answer. */
export function openA2a(fullConfig: A2aConfig, gateway: ChannelContext): Channel<Hono> {
  const config = boundHops(fullConfig, gateway.maxHops)
  const { store, system, agents, showRequirement } = gateway
  const keys = createOwnKeyRing(gateway)
  const endpoint = openEndpoint(config, gateway, keys)
  const sender = createSender({
    descriptor: a2aDescriptor,
    address: addressTask,
    render: delivery => renderDelivery(showDelivery(delivery, showRequirement)),
    describe: describeTask,
    deliver: createTaskDelivery({ store, system, timeoutMs: config.limits.push_seconds * 1000 }),
  })
  const { grpc } = config
  const client = { config, system, store, origin: agents.origin }
  return {
    ...sender,
    endpoint: {
      routes: endpoint.routes,
      release: endpoint.release,
      ...(grpc && {
        listen: async previousListener =>
          (await loadGrpc()).openGrpcListener(withPortOf(grpc, previousListener), endpoint.deps),
      }),
    },
    actions: { addressReply: createPushReply(store), call: createAgentCaller(client) },
    discovery: {
      describeAgent: (agent, { extensions }) => ({
        a2a: describeForCallers(agent, {
          origin: agents.origin,
          config,
          extensions,
          isAnonymous: config.auth.anonymous,
        }),
      }),
      renderInvitation: agent => renderCallInvitation(agent, agents.origin),
    },
    diagnostics: {
      preview: ({ turn, response }) =>
        renderUnsent(sender, { turn: { ...turn, target: previewTaskTarget(response) }, response }),
      replay: createCallReplay(config, gateway),
      selfTest: (agent, fetches) => rehearseCall(`@${agent}@${agents.domain}`, fetches, client),
    },
    keys: {
      list: async () => (await keys.list()).map(describeKey),
      rotate: async (agent, options) => (agent === undefined ? [describeKey(await keys.rotate(options))] : []),
    },
  }
}

/** Opens the public endpoint, which serves the operations in every binding and the keys. */
function openEndpoint(config: A2aConfig, gateway: ChannelContext, keys: OwnKeyRing) {
  const { store, system, agents } = gateway
  const { limits } = config
  const challenger = openChallenger(config, agents.domain)
  const cards = createCards({ config, gateway, keys })
  const tasks = showTasks(store, gateway)
  const waiter = createTaskWaiter(tasks, system)
  const feeds = createFeeds(
    { store: tasks, system },
    {
      maxPerCaller: limits.streams_per_caller,
      maxPerConnector: limits.streams_per_caller * sharedOwnerFactor,
      idleMs: limits.stream_idle_seconds * 1000,
    },
  )
  const expiry = createExpiry(gateway, {
    taskTtlMs: config.task_ttl,
    maxTasks: limits.tasks_per_caller,
    maxBytes: limits.bytes_per_caller,
  })
  const cursors = createCursors(store)
  const outputModes = createTaskOutputModes(system)
  const operations = createOperations({
    config,
    gateway,
    tasks,
    waiter,
    cursors,
    feeds,
    cards,
    challenger,
    expiry,
    outputModes,
  })
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

/** Returns the configuration with the port of the previous listener if port 0 lets the system choose, so that the port stays the same. */
function withPortOf<Socket extends { readonly port: number }>(
  config: Socket,
  previousListener: { readonly port: number } | undefined,
): Socket {
  return config.port === 0 && previousListener ? { ...config, port: previousListener.port } : config
}

/** Limits the chain of agents in the configuration to the maximum of the gateway. */
function boundHops(config: A2aConfig, maxHops = Number.POSITIVE_INFINITY): A2aConfig {
  const { limits } = config
  return { ...config, limits: { ...limits, max_hops: Math.min(limits.max_hops, maxHops) } }
}

/** The entry for the gateway's list of channels. */
export const a2a: ChannelModule<A2aConfig, 'a2a'> = {
  descriptor: a2aDescriptor,
  configSchema: a2aConfigSchema,
  open: openA2a,
  tokens: {
    authOf: ({ auth }) => auth,
    scopesOf: ({ auth }) => auth.scopes,
    join: (config, otherConfig) => ({ ...config, auth: joinTokenRules(config.auth, otherConfig) }),
  },
  simulatedDefaults: ({ origin, issuers }) => [
    ['a2a/auth/issuers', issuers.map(issuer => ({ ...issuer, audience: `${origin}/a2a` })), 'issuer'],
  ],
}
