// Mounts all routes behind the checks: channels, discovery, files, requirements, operator's API and console.

import { resolve } from 'node:path'
import { readSharedQuota } from '@postern/agents'
import type { SharedBodyBudget } from '@postern/limits'
import type {
  DoctorDeps,
  FailedStart,
  OpenedGateway,
  OperatorOptions,
  OperatorRoute,
  SettingList,
  SignInCodes,
} from '@postern/operator'
import {
  createAgentRoutes,
  createBanRoutes,
  createDoctorRoutes,
  createEventRoute,
  createForgettingRoutes,
  createHostRoute,
  createMessageDocumentRoutes,
  createOperatorRoutes,
  createOperatorSessions,
  createOutcomeRoute,
  createPruneRoute,
  createQuestionRoutes,
  createRateRoute,
  createReplayRoutes,
  createSelfVisits,
  createStatusRoutes,
  createSwarmUsageRoute,
  createTranscriptRoutes,
  createWhyRoute,
  readMachineFacts,
  requireOperator,
} from '@postern/operator'
import type { ListeningSocket, PausedHost } from '@postern/pipeline'
import type { RecordQuota } from '@postern/transcript'
import type { Hono } from 'hono'
import { minimumNode } from '../../bin/launch.mjs'
import { channelModules } from '../channels.ts'
import { hasRole } from '../config/own-schema.ts'
import type { Config } from '../config/schema.ts'
import { createConsoleChatRoutes } from '../console/chat-routes.ts'
import { createConsoleFiles } from '../console/files.ts'
import { createSignInRoutes } from '../console/sign-in-routes.ts'
import { listGatewayExtensions } from '../discovery/extensions.ts'
import { createDiscoveryRoutes } from '../discovery/routes.ts'
import { createSchemaRoutes } from '../discovery/schema-routes.ts'
import { createTrustedProxies } from '../http/clients/trusted-proxies.ts'
import type { UnknownProxies } from '../http/clients/unknown-proxies.ts'
import { createUnknownProxies } from '../http/clients/unknown-proxies.ts'
import type { Rehearsals } from '../http/rehearsals.ts'
import { createRunProofRoutes } from '../http/run-proof-routes.ts'
import type { HttpServer } from '../http/server.ts'
import { createServer } from '../http/server.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { TokenMeter } from '../observe/token-meter.ts'
import { listCutoffs } from '../storage/retention.ts'
import { softwareVersion } from '../system/version.ts'
import type { PausedAgents } from '../work/paused-agents.ts'
import { openPublisherDeps } from '../work/work.ts'
import { createAnswerMask } from './answer-mask.ts'
import { describeChannelSettings, describeInstallation } from './doctor-deps.ts'
import { openDoctorNetwork } from './doctor-network.ts'
import { openReplay } from './open-replay.ts'
import { createResolveSystem } from './resolve-system.ts'
import type { GatewayResources } from './resources.ts'

/** The dependencies of the application besides the resources of the gateway. */
export interface AppOptions {
  readonly operatorToken: string
  readonly bodies: SharedBodyBudget
  readonly metrics: Metrics
  readonly rehearsals: Rehearsals
  /** Operations of the operator's API that only dev mode has. */
  readonly extraOperations: readonly OperatorRoute[]
  readonly signInCodes: Pick<SignInCodes, 'consume'>
  readonly meter: Pick<TokenMeter, 'list'>
  readonly paused: Pick<PausedAgents, 'isPaused' | 'setPaused'>
  /** Returns the values of a configuration, or of one of its agents, with their sources. */
  listSettings(config: Config, agent?: string): SettingList
  readonly activity: GatewayActivity
  /** Aborts on shutdown or reload, and ends the operators' event streams. */
  readonly streamsSignal: AbortSignal
  isReady(): Promise<boolean>
}

/** Creates the HTTP application of a gateway: the routes of its channels and its own, behind the checks of every request. */
export function createApp(resources: GatewayResources, options: AppOptions): HttpServer {
  const { config, channels, limits, store, system } = resources
  const { bodies, metrics, rehearsals, isReady, activity } = options
  const { log, now } = system
  const trustedProxies = createTrustedProxies(config)
  const unknownProxies = createUnknownProxies(trustedProxies, log)
  const server: HttpServer = createServer({
    channels,
    routers: createOwnRouters(resources, options, {
      unknownProxies,
      fetchOwn: (request, env) => server.app.fetch(request, env as object),
    }),
    limits,
    bodies,
    metrics,
    log,
    trustedProxies,
    unknownProxies,
    rehearsals,
    store,
    now,
    acceptsMessages: hasRole(config, 'ingress'),
    isReady,
    listMissingAgents: () =>
      activity.listFailedStarts().flatMap(({ agent }) => (config.agents[agent]?.required === true ? agent : [])),
  })
  return server
}

interface OwnRouterDeps {
  readonly unknownProxies: UnknownProxies
  /** Answers a request with the application itself, which exists only after its routers. */
  fetchOwn(request: Request, env?: unknown): Response | Promise<Response>
}

/** Creates the routers of the gateway itself: discovery, files, requirements, the operator's API and the console. */
function createOwnRouters(
  resources: GatewayResources,
  options: AppOptions,
  { unknownProxies, fetchOwn }: OwnRouterDeps,
): readonly Hono[] {
  const { config, channels, agents, attachments, requirements, store, system } = resources
  const { operatorToken, rehearsals, extraOperations, signInCodes, activity } = options
  const { now } = system
  const sessions = createOperatorSessions({ records: store.forOperators.records, token: operatorToken, now })
  const access = { token: operatorToken, sessions, origin: config.origin }
  const operatorOnly = requireOperator(access)
  const selfVisits = createSelfVisits()
  const openResolveSystem = () => createResolveSystem({ config, system, channels, app: { fetch: fetchOwn } })
  const openDoctorDeps = createDoctorDepsFactory(resources, {
    ...activity,
    ...describeChannelSettings({ ...resources, store: store.forOperators, unknownProxies }),
    operatorToken,
    visits: selfVisits,
    rehearsals,
    openResolveSystem,
    listWaitingForgets: resources.agentForgetting.listWaiting,
  })
  return [
    createDiscoveryRoutes({ agents, channels, extensions: listGatewayExtensions(config) }),
    createSchemaRoutes(),
    attachments.routes,
    requirements.routes,
    openOperatorRoutes(resources, {
      ...options,
      operatorOnly,
      openResolveSystem,
      extraOperations: [...createDoctorRoutes(openDoctorDeps, unknownProxies), ...extraOperations],
    }),
    selfVisits.routes,
    createRunProofRoutes(activity.listListening),
    createSignInRoutes({ ...access, codes: signInCodes, now }),
    createConsoleChatRoutes({ operatorOnly, channels, token: operatorToken, fetch: fetchOwn }),
    createConsoleFiles(),
  ]
}

type OperatorRouteDeps = AppOptions & Pick<OperatorOptions, 'operatorOnly' | 'openResolveSystem'>

function openOperatorRoutes(
  resources: GatewayResources,
  {
    operatorOnly,
    extraOperations,
    openResolveSystem,
    meter,
    paused,
    streamsSignal,
    listSettings,
    activity,
  }: OperatorRouteDeps,
): Hono {
  const { config, channels, agents, requirements, operators, system } = resources
  const { forOperators: store } = resources.store
  return createOperatorRoutes({
    store,
    operations: [
      ...createReplayRoutes(openReplay(resources)),
      createEventRoute({ store, signal: streamsSignal, now: system.now }),
      createWhyRoute({ store, agents, agentConfigs: config.agents, now: () => system.now() }),
      createHostRoute({ store, listPausedHosts: activity.listPausedHosts }),
      createRateRoute({ store, channels, now: system.now }),
      ...createMessageDocumentRoutes({ store, channels }),
      createOutcomeRoute({ store, agentConfigs: config.agents, now: system.now }),
      ...createQuestionRoutes(operators),
      ...createBanRoutes(store.records),
      createSwarmUsageRoute({ records: store.records, findQuota: name => findSwarmQuota(config, name) }),
      ...createForgettingRoutes({ ...resources, store }),
      createPruneRoute({ store, listCutoffs: () => listCutoffs(config.retention, system.now()) }),
      ...createTranscriptRoutes({ store, system, channels }),
      ...extraOperations,
      ...createAgentRoutes({ agentConfigs: config.agents, agents, meter, pauses: paused }),
      ...createStatusRoutes({
        config,
        store,
        agents,
        channels,
        now: system.now,
        version: softwareVersion,
        questions: operators,
        settings: agent => listSettings(config, agent),
      }),
    ],
    agents,
    channels,
    channelNames: channelModules.map(({ descriptor }) => descriptor.name),
    version: softwareVersion,
    operatorOnly,
    mask: createAnswerMask(resources.mask),
    requirements,
    acting: openPublisherDeps(resources),
    openResolveSystem,
  })
}

function findSwarmQuota({ agents }: Config, name: string): RecordQuota | undefined {
  return Object.hasOwn(agents, name) ? readSharedQuota(agents[name]) : undefined
}

/** The sockets, hosts and agents of the running gateway. */
interface GatewayActivity {
  /** Returns the open sockets, the HTTP server’s first, or an empty list before it runs. */
  listListening(): readonly ListeningSocket[]
  /** Returns the hosts to which the gateway currently delivers nothing. */
  listPausedHosts(): readonly PausedHost[]
  /** Returns the agents whose last `start()` has failed. */
  listFailedStarts(): readonly FailedStart[]
}

type DoctorFactoryDeps = Omit<OpenedGateway, 'store' | 'channels' | 'agents' | 'listening'> &
  Pick<GatewayActivity, 'listListening'>

/** Creates a factory that makes new dependencies for each run of `postern doctor`, so that a run caches only its own answers. */
function createDoctorDepsFactory(
  resources: GatewayResources,
  { listListening, ...openedGateway }: DoctorFactoryDeps,
): () => DoctorDeps {
  const { config, channels, agents, system, baseDir, configPath } = resources
  const { forOperators: store } = resources.store
  const network = openDoctorNetwork(system, config)
  return () => {
    const listening = listListening()
    return {
      ...describeInstallation(config, { network, now: system.now }),
      configPath,
      network,
      gateway: { store, channels, agents, listening, ...openedGateway },
      directory: resolve(baseDir, config.data),
      facts: readMachineFacts(minimumNode),
      now: system.now,
      configFaults: [],
      openFaults: [],
      isRunning: listening.length > 0,
    }
  }
}
