import { resolve } from 'node:path'
import type { ByteBudget, LeftAloneHost, Listening } from '@postern/core'
import type { Hono } from 'hono'
import type { OperatorRoute } from '../api/operation.ts'
import { createBanRoutes } from '../commands/bans/route.ts'
import { createDoctorRoutes } from '../commands/doctor/route.ts'
import { createMessageDocumentRoutes } from '../commands/documents/route.ts'
import { createEventRoute } from '../commands/events/route.ts'
import { createHostRoute } from '../commands/hosts/route.ts'
import { requireOperator } from '../commands/operator-token.ts'
import { createOutcomeRoute } from '../commands/outcomes/route.ts'
import { createOwnerRoutes } from '../commands/people/route.ts'
import { createQuestionRoutes } from '../commands/questions/route.ts'
import { createRateRoute } from '../commands/rates/route.ts'
import { createReplayRoutes } from '../commands/replay/route.ts'
import type { OperatorOptions } from '../commands/routes.ts'
import { createOperatorRoutes } from '../commands/routes.ts'
import type { ListedSetting } from '../commands/status/route.ts'
import { createStatusRoutes } from '../commands/status/route.ts'
import { createSwarmUsageRoute } from '../commands/swarm-usage/route.ts'
import { createTranscriptRoutes } from '../commands/transcript/route.ts'
import { createWhyRoute } from '../commands/why/route.ts'
import { hasRole } from '../config/own-schema.ts'
import type { Config } from '../config/schema.ts'
import { createConsoleChatRoutes } from '../console/chat-routes.ts'
import { createConsoleFiles } from '../console/files.ts'
import { createSignInRoutes } from '../console/sign-in-routes.ts'
import { createSchemaRoutes, listGatewayExtensions } from '../discovery/extensions.ts'
import { createDiscoveryRoutes } from '../discovery/routes.ts'
import type { DoctorDeps, OpenedGateway } from '../doctor/deps.ts'
import { realMachine } from '../doctor/machine-facts.ts'
import { createSelfVisits } from '../doctor/network/visits.ts'
import { openOutside } from '../doctor/outside.ts'
import { createTrustedProxies, createUnknownProxies } from '../http/clients.ts'
import { createServer } from '../http/server.ts'
import type { Metrics, TokenMeter } from '../observe/metrics.ts'
import { createResolvePlatform } from '../resolve/own-platform.ts'
import type { SignInCodes } from '../sign-in/sessions.ts'
import { createOperatorSessions } from '../sign-in/sessions.ts'
import type { PausedAgents } from '../work/paused-agents.ts'
import { openPublisherDeps } from '../work/work.ts'
import type { Foundation } from './foundation.ts'
import { openReplay } from './open-replay.ts'

export interface AppOptions {
  readonly operatorToken: string
  readonly bodies: ByteBudget
  readonly metrics: Metrics
  /** Operations of the operator's API that only dev mode has. */
  readonly extraOperations: readonly OperatorRoute[]
  readonly signInCodes: Pick<SignInCodes, 'use'>
  readonly meter: Pick<TokenMeter, 'list'>
  readonly paused: Pick<PausedAgents, 'isPaused' | 'setPaused'>
  /** Every value of a configuration with its source. */
  listSettings(config: Config): readonly ListedSetting[]
  readonly activity: GatewayActivity
  /** Ends what is told to those who follow the gateway. */
  readonly leaving: AbortSignal
  isReady(): Promise<boolean>
}

/** All routes behind the checks of the endpoint: channels, discovery, files, pages of requirements, the operator's. */
export function createApp(foundation: Foundation, options: AppOptions): Hono {
  const { config, channels, agents, attachments, requirements, limits, platform } = foundation
  const { operatorToken, bodies, metrics, extraOperations, isReady, signInCodes, activity } = options
  const { log, now } = platform
  const sessions = createOperatorSessions({ records: foundation.store.records, token: operatorToken, now })
  const access = { token: operatorToken, sessions, origin: config.origin }
  const operatorOnly = requireOperator(access)
  const trustedProxies = createTrustedProxies(config)
  const unknownProxies = createUnknownProxies(trustedProxies, log)
  const visits = createSelfVisits()
  const openResolvePlatform = () => createResolvePlatform({ config, platform, channels, app })
  const openDoctorDeps = createDoctorDepsFactory(foundation, {
    ...{ ...activity, operatorToken, visits, openResolvePlatform },
    listUnknownProxies: unknownProxies.list,
  })
  const app: Hono = createServer({
    channels,
    deps: [
      createDiscoveryRoutes({ agents, channels, extensions: listGatewayExtensions(config) }),
      createSchemaRoutes(),
      attachments.routes,
      requirements.routes,
      openOperatorRoutes(foundation, {
        ...{ ...options, operatorOnly, openResolvePlatform },
        extraOperations: [...createDoctorRoutes(openDoctorDeps, unknownProxies), ...extraOperations],
      }),
      visits.routes,
      createSignInRoutes({ ...access, codes: signInCodes, now }),
      createConsoleChatRoutes({
        ...{ operatorOnly, channels, token: operatorToken },
        fetch: (request, env) => app.fetch(request, env as object),
      }),
      createConsoleFiles(),
    ],
    limits,
    bodies,
    metrics,
    log,
    trustedProxies,
    unknownProxies,
    store: foundation.store,
    now,
    takesMessages: hasRole(config, 'ingress'),
    isReady,
  })
  return app
}

type OperatorPart = AppOptions & Pick<OperatorOptions, 'operatorOnly' | 'openResolvePlatform'>

function openOperatorRoutes(
  foundation: Foundation,
  { operatorOnly, extraOperations, openResolvePlatform, meter, paused, leaving, listSettings, activity }: OperatorPart,
): Hono {
  const { config, store, channels, agents, requirements, operators, platform } = foundation
  return createOperatorRoutes({
    store,
    operations: [
      ...createReplayRoutes(openReplay(foundation)),
      createEventRoute({ store, leaving, now: platform.now }),
      createWhyRoute({ store, agents, agentConfigs: config.agents, now: () => platform.now() }),
      createHostRoute({ store, listLeftAlone: activity.listLeftAlone }),
      createRateRoute({ store, channels, now: platform.now }),
      ...createMessageDocumentRoutes({ store, channels }),
      createOutcomeRoute({ store, agentConfigs: config.agents, now: platform.now }),
      ...createQuestionRoutes(operators),
      ...createBanRoutes(store.records),
      createSwarmUsageRoute({ records: store.records, agents: config.agents }),
      ...createOwnerRoutes(store, channels),
      ...createTranscriptRoutes({ store, platform, channels }),
      ...extraOperations,
      ...createStatusRoutes({
        ...{ config, store, agents, channels, meter, paused, now: platform.now },
        questions: operators,
        settings: () => listSettings(config),
      }),
    ],
    agents,
    channels,
    operatorOnly,
    requirements,
    acting: openPublisherDeps(foundation),
    openResolvePlatform,
  })
}

/** What runs now. */
interface GatewayActivity {
  /** Open sockets, the HTTP server's first; none before it runs. */
  listListening(): readonly Listening[]
  /** Hosts that nothing is delivered to. */
  listLeftAlone(): readonly LeftAloneHost[]
}

type DoctorParts = Omit<OpenedGateway, 'store' | 'channels' | 'agents' | 'slices' | 'listening'> &
  Pick<GatewayActivity, 'listListening'>

/** What the checks of the installation ask; made anew for each run, which then keeps what it has asked. */
function createDoctorDepsFactory(foundation: Foundation, { listListening, ...opened }: DoctorParts): () => DoctorDeps {
  const { config, store, channels, agents, slices, platform, baseDir, configPath } = foundation
  const outside = openOutside(platform, config)
  return () => {
    const listening = listListening()
    return {
      ...{ config, configPath, outside },
      gateway: { store, channels, agents, slices, listening, ...opened },
      directory: resolve(baseDir, config.data),
      facts: realMachine,
      now: platform.now,
      configFaults: [],
      openFaults: [],
      isRunning: listening.length > 0,
    }
  }
}
