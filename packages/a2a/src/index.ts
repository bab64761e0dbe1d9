import type { Channel, ChannelContext } from '@postern/core'
import { createSender } from '@postern/core'
import type { Hono } from 'hono'
import { openChallenger } from './auth/challenger.ts'
import { createKeyRing } from './auth/key-ring.ts'
import { createKeyRoutes } from './auth/key-routes.ts'
import { createOwnIssuer } from './auth/own-issuer.ts'
import { describeKey } from './auth/published-keys.ts'
import { guardOperations, readScopeTable } from './auth/scopes.ts'
import { createAuthenticate } from './authenticate.ts'
import { createTaskWaiter } from './await-task.ts'
import { createCards } from './cards.ts'
import type { A2aConfig } from './config.ts'
import { createCursors } from './cursor.ts'
import { createTaskDelivery } from './deliver.ts'
import { createExpiry } from './expire-tasks.ts'
import { createLargeAnswers } from './large-answers.ts'
import { createOperations } from './operations/create-operations.ts'
import { addressAnswer, describeTask, renderDelivery } from './render.ts'
import { createRoutes } from './routes.ts'
import { showDelivery, showTaskRequirements } from './shown-requirements.ts'
import { createFeeds } from './streams/feeds.ts'

export type { A2aClient, A2aClientOptions } from './client/agent-client.ts'
export { createA2aClient } from './client/agent-client.ts'
export type { FinishedAnswer } from './client/answer-state.ts'
export type { FoundCard } from './client/find-card.ts'
export { findCard } from './client/find-card.ts'
export type { TaskLine } from './client/follow-task.ts'
export { followTask, readTask } from './client/follow-task.ts'
export type { AgentInterface } from './client/read-card.ts'
export { readInterface } from './client/read-card.ts'
export { verifyCard } from './client/verify-card.ts'
export type { A2aConfig } from './config.ts'
export { a2aConfigSchema } from './config.ts'

/** A2A 1.0 over JSON-RPC, HTTP+JSON and gRPC: agents call ours, and get their answer in the call. */
export function openA2a(config: A2aConfig, given: ChannelContext): Channel<Hono> {
  const { showRequirement } = given
  const gateway = { ...given, store: showTaskRequirements(given.store, showRequirement) }
  const { store, platform, agents } = gateway
  const challenger = openChallenger(config, agents.domain)
  const keys = createKeyRing(gateway)
  const cards = createCards({ config, gateway, keys })
  const waiter = createTaskWaiter(store, platform)
  const feeds = createFeeds(gateway, {
    perCaller: config.limits.streams_per_caller,
    idleMs: config.limits.stream_idle_seconds * 1000,
  })
  const expiry = createExpiry(gateway, {
    taskMs: config.task_ttl,
    most: config.limits.tasks_per_caller,
    bytes: config.limits.bytes_per_caller,
  })
  const deps = {
    config,
    gateway,
    largeAnswers: createLargeAnswers(),
    cards,
    authenticate: createAuthenticate(config, gateway, challenger, createOwnIssuer(keys, agents.origin)),
    operations: guardOperations(
      createOperations({
        config,
        gateway,
        waiter,
        cursors: createCursors(store, platform),
        feeds,
        cards,
        challenger,
        expiry,
      }),
      {
        table: readScopeTable(config),
        challenger,
      },
    ),
  }
  const routes = createRoutes(deps)
  routes.route('/', createKeyRoutes(keys))
  const sender = createSender({
    name: 'a2a',
    address: addressAnswer,
    render: delivery => renderDelivery(showDelivery(delivery, showRequirement)),
    describe: describeTask,
    deliver: createTaskDelivery({ store, platform, timeoutMs: config.limits.push_seconds * 1000 }),
  })
  const { grpc } = config
  return {
    ...sender,
    routes,
    // Loaded only where it is switched on.
    ...(grpc && { listen: async () => (await import('./grpc/open-grpc.ts')).openGrpcListener(grpc, deps) }),
    links: () => [],
    publishedKeys: async () => (await keys.published()).map(describeKey),
    rotateKeys: async agent => (agent === undefined ? [describeKey((await keys.rotate()).publicJwk)] : []),
    release() {
      expiry.close()
      waiter.close()
      feeds.close()
    },
  }
}
