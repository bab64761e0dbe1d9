import type { ByteBudget } from '@postern/core'
import type { Hono } from 'hono'
import { createBanRoutes } from '../commands/bans/route.ts'
import { createProxyRoutes } from '../commands/doctor/route.ts'
import { createOwnerRoutes } from '../commands/people/owners-route.ts'
import { createFileRoutes } from '../commands/people/vacuum-route.ts'
import { createQuestionRoutes } from '../commands/questions/route.ts'
import { createOperatorRoutes } from '../commands/routes.ts'
import { createSharedRoutes } from '../commands/swarm-usage/route.ts'
import { createTranscriptRoutes } from '../commands/transcript/route.ts'
import { createViewRoutes } from '../commands/transcript/views-route.ts'
import { createTrustedProxies } from '../config/trusted-proxies.ts'
import { listGatewayExtensions } from '../discovery/extensions.ts'
import { createDiscoveryRoutes } from '../discovery/routes.ts'
import { createSchemaRoutes } from '../discovery/schemas.ts'
import { createServer } from '../http/server.ts'
import type { UnknownProxies } from '../http/unknown-proxies.ts'
import { createUnknownProxies } from '../http/unknown-proxies.ts'
import type { Metrics } from '../observe/metrics.ts'
import { createResolvePlatform } from '../resolve/own-platform.ts'
import { openPublisherDeps } from '../work/work.ts'
import type { Foundation } from './foundation.ts'

interface AppOptions {
  readonly operatorToken: string
  readonly bodies: ByteBudget
  readonly metrics: Metrics
  /** Routes that only dev mode has. */
  readonly extraRoutes: readonly Hono[]
  isReady(): Promise<boolean>
}

/** All routes behind the checks of the endpoint: channels, discovery, files, pages of requirements, the operator's. */
export function createApp(foundation: Foundation, options: AppOptions): Hono {
  const { config, channels, agents, attachments, requirements, limits, platform } = foundation
  const { operatorToken, bodies, metrics, extraRoutes, isReady } = options
  const { log } = platform
  const trustedProxies = createTrustedProxies(config)
  const unknownProxies = createUnknownProxies(trustedProxies, log)
  const app: Hono = createServer({
    channels,
    deps: [
      createDiscoveryRoutes({ agents, channels, extensions: listGatewayExtensions(config) }),
      createSchemaRoutes(),
      attachments.routes,
      requirements.routes,
      openOperatorRoutes(foundation, { operatorToken, unknownProxies, findApp: () => app }),
      ...extraRoutes,
    ],
    limits,
    bodies,
    metrics,
    log,
    trustedProxies,
    unknownProxies,
    isReady,
  })
  return app
}

interface OperatorPart {
  readonly operatorToken: string
  readonly unknownProxies: UnknownProxies
  findApp(): Hono
}

function openOperatorRoutes(foundation: Foundation, { operatorToken, unknownProxies, findApp }: OperatorPart): Hono {
  const { config, store, channels, agents, attachments, requirements, operators, platform } = foundation
  return createOperatorRoutes({
    store,
    further: [
      createTranscriptRoutes({ store, platform, channels }),
      createViewRoutes({ store, platform }),
      createOwnerRoutes(store, channels),
      createFileRoutes(store),
      createQuestionRoutes(operators),
      createBanRoutes(store.records),
      createProxyRoutes(unknownProxies),
      createSharedRoutes({ records: store.records, agents: config.agents }),
    ],
    agents,
    channels,
    token: operatorToken,
    requirements,
    acting: openPublisherDeps({ store, platform, channels, attachments }),
    openResolvePlatform: () => createResolvePlatform({ config, platform, channels, app: findApp() }),
  })
}
