import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import type { AgentDeps } from '@postern/agents'
import { createCallFinder, openAgents } from '@postern/agents'
import type { Channel, ChannelName, Listening, Log, Store } from '@postern/core'
import { ConfigError, findChannel as findDescriptor, guardAccess, guardLoops } from '@postern/core'
import { openIdentity } from '@postern/identity'
import { createByteBudget } from '@postern/limits'
import { openPolicy, watchOverdue } from '@postern/requirements'
import type { GatewayStore } from '@postern/store'
import { isPostgresUrl, openPostgresStore, openSqliteStore } from '@postern/store'
import type { Hono } from 'hono'
import { channelModules } from './channels.ts'
import { createBanRoutes } from './commands/bans/route.ts'
import { createProxyRoutes } from './commands/doctor/route.ts'
import { createTokenCheck } from './commands/operator-token.ts'
import { createOwnerRoutes } from './commands/people/owners-route.ts'
import { createFileRoutes } from './commands/people/vacuum-route.ts'
import { createOperatorQuestions } from './commands/questions/questions.ts'
import { createQuestionRoutes } from './commands/questions/route.ts'
import { createOperatorRoutes } from './commands/routes.ts'
import { createSharedRoutes } from './commands/swarm-usage/route.ts'
import { createTranscriptRoutes } from './commands/transcript/route.ts'
import { createViewRoutes } from './commands/transcript/views-route.ts'
import type { AnyChannelModule, ChannelSlice } from './config/channel-slices.ts'
import { findScopes, joinTokens, listSlices, readChannelFiles } from './config/channel-slices.ts'
import { handleHostOf } from './config/handle-host.ts'
import { readLoopLimits } from './config/loops.ts'
import type { Config } from './config/schema.ts'
import { createTrustedProxies, noTrustedProxy, trustsNoProxy } from './config/trusted-proxies.ts'
import { listGatewayExtensions } from './discovery/extensions.ts'
import { createDiscoveryRoutes } from './discovery/routes.ts'
import { createPublishedAttachments } from './files/attachments.ts'
import { createLimits } from './http/limits.ts'
import { listenHttp, toListenError } from './http/listen.ts'
import { createReadiness } from './http/readiness.ts'
import { createServer } from './http/server.ts'
import { createUnknownProxies } from './http/unknown-proxies.ts'
import { createMetrics } from './observe/metrics.ts'
import { createTokenMeter } from './observe/token-meter.ts'
import { openLocalFetch } from './platform/local-fetch.ts'
import type { GatewayPlatform } from './platform/platform.ts'
import { createPlatform } from './platform/platform.ts'
import { makeDataDirectory } from './platform/run-file.ts'
import { softwareVersion } from './platform/version.ts'
import { createResolvePlatform } from './resolve/own-platform.ts'
import { openLinkCodes } from './work/link-codes.ts'
import { assignQueueModes } from './work/queue-modes.ts'
import { openPublisherDeps, startWork } from './work/work.ts'

export interface Gateway {
  readonly app: Hono
  readonly store: Store
  readonly agents: AgentDeps
  readonly platform: GatewayPlatform
  readonly operatorToken: string
  readonly channels: readonly Channel<Hono>[]
  /** Opens the sockets and starts to work. */
  start(): Promise<readonly Listening[]>
  /** Takes nothing new, finishes or gives back what runs, closes. Within 10 s; also after a start that failed. */
  stop(): Promise<void>
}

interface GatewayOptions {
  /** Where relative paths of the configuration start. */
  readonly baseDir: string
  readonly log: Log
  readonly operatorToken: string
  /** Nothing can be stored any more, for good. */
  readonly onUnusable?: ((error: ConfigError) => void) | undefined
  /** Default: the program's own list. */
  readonly modules?: readonly AnyChannelModule[] | undefined
  /** Routes that only dev mode has. */
  readonly extraRooms?: readonly Hono[]
  /** How long turns and deliveries may still run when the gateway stops; default 8 s. */
  readonly shutdownGraceMs?: number | undefined
}

/** Wires the gateway: platform, store, agents, channels, routes, worker. */
export async function openGateway(
  config: Config,
  {
    baseDir,
    log,
    operatorToken,
    onUnusable,
    extraRooms = [],
    modules = channelModules,
    shutdownGraceMs = 8_000,
  }: GatewayOptions,
): Promise<Gateway> {
  const channels: Channel<Hono>[] = []
  const slices = joinTokens(readChannelFiles(listSlices(config, modules), { baseDir, log }))
  const descriptors = modules.map(({ descriptor }) => descriptor)
  const platform = createPlatform(config, { log, slices })
  // A container that is started again has the name and number of the one before.
  const holder = `${hostname()}:${process.pid}:${randomBytes(4).toString('hex')}`
  const store = await openStore(config, { baseDir, platform, holder, onUnusable, slices })
  const limits = createLimits(config, platform.now, via => findDescriptor(descriptors, via)?.speaker.isChat === true)
  const domain = handleHostOf(config)
  const operators = createOperatorQuestions({
    records: store.records,
    store,
    platform,
    domain,
    openPublishers: () => openPublisherDeps({ store, platform, channels, attachments }),
  })
  const place = {
    domain,
    origin: config.origin,
    version: softwareVersion,
    baseDir,
    platform,
    fetchFor: platform.fetchFor,
    stores: store,
    operators,
    log,
  }
  const agents = await openAgents(config.agents, config.default_agent ?? Object.keys(config.agents)[0], place)
  const attachmentKey = await store.secret('attachments', async () => randomBytes(32).toString('base64'))
  const attachments = createPublishedAttachments({
    store,
    origin: config.origin,
    key: attachmentKey,
    fetch: platform.fetch,
    now: platform.now,
  })
  const { requirements, payments } = config
  const answersCalls = (via: ChannelName) => findDescriptor(descriptors, via)?.answersCalls === true
  const guarded = guardAccess(assignQueueModes(store, config.agents), name => config.agents[name], answersCalls)
  const findCall = createCallFinder(store.records)
  const policy = await openPolicy({ requirements, payments, baseDir, store: guarded, platform, agents, findCall })
  const { loop } = config.limits
  // Whatever leaves for one of our own agents stays in the gateway, and passes its doors like everything else.
  const ways = openLocalFetch(platform, {
    app: { fetch: (request, env) => app.fetch(request, env) },
    origins: [config.origin, `https://${domain}`],
    channels,
  })
  const bodies = createByteBudget({
    total: config.limits.held_bytes,
    refusal: 'Cannot take request: too many large ones are on their way',
  })
  const gateway = {
    channels,
    bodies,
    platform: { ...platform, ...ways },
    store: guardLoops(limits.guardStore(guarded), readLoopLimits(loop)),
    identity: openIdentity(config.identity, { platform, store }),
    agents,
    fileAddress: attachments.fileAddress,
    showRequirement: policy.showRequirement,
    requirementClaims: policy.requirementClaims,
    maxHops: loop.max_hops,
    maxMentions: loop.max_mentions,
    transcript: store.transcript,
    objects: store.objects,
    records: store.records,
    forgetChat: store.forgetChat,
    isLinking: (name: string) => agents.findRunning(name)?.people?.link === true,
    approvals: policy.approvals,
    questions: operators,
    isOperatorToken: createTokenCheck(operatorToken),
    scopes: findScopes(slices),
  }
  for (const { module, config: own } of slices) channels.push(await module.open(own, gateway))
  const meter = createTokenMeter()
  const metrics = createMetrics(store, meter, platform.now)
  const readiness = createReadiness({ checkWrites: store.checkWrites, sleep: platform.sleep, log })
  const trustedProxies = createTrustedProxies(config)
  const unknownProxies = createUnknownProxies(trustedProxies, log)
  const deps = [
    createDiscoveryRoutes({
      agents,
      channels,
      extensions: listGatewayExtensions(config),
    }),
    attachments.routes,
    policy.routes,
    createOperatorRoutes({
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
      policy,
      acting: openPublisherDeps({ store, platform, channels, attachments }),
      openResolvePlatform: () => createResolvePlatform({ config, platform, channels, app }),
    }),
    ...extraRooms,
  ]
  const app = createServer({
    channels,
    deps,
    limits,
    bodies,
    metrics,
    log,
    trustedProxies,
    unknownProxies,
    isReady: readiness.isReady,
  })
  const listening: Listening[] = []
  const closers: (() => Promise<unknown> | unknown)[] = [() => Promise.all(listening.map(socket => socket.close()))]

  async function start(): Promise<readonly Listening[]> {
    if (trustsNoProxy(config)) log.warn({ fix: noTrustedProxy.fix }, noTrustedProxy.message)
    listening.push(await listenHttp(app, config.listen))
    for (const channel of channels) {
      const opened = await channel.listen?.().catch(cause => {
        throw toListenError(`${channel.name}.listen`, cause)
      })
      if (opened) listening.push(opened)
    }
    const { requirements } = policy
    const people = await openLinkCodes(store)
    const ownPlatform = { ...platform, ...ways }
    const work = startWork({
      countUsage: meter.count,
      slices,
      config,
      store,
      holder,
      platform: ownPlatform,
      agents,
      requirements,
      people,
      channels,
      attachments,
    })
    closers.push(() => work.stop(shutdownGraceMs))
    const leaving = new AbortController()
    const watching = watchOverdue({ store: guarded, platform }, leaving.signal)
    closers.push(() => {
      leaving.abort()
      return watching
    })
    readiness.open()
    return listening
  }

  async function stop(): Promise<void> {
    readiness.close()
    for (const channel of channels) channel.release?.()
    await Promise.all(closers.map(close => close()))
    await Promise.all(channels.map(channel => channel.close?.()))
    await agents.close()
    metrics.close()
    platform.close()
    await store.close()
  }

  return { app, store, agents, platform, operatorToken, channels, start, stop }
}

interface StorePosition extends Pick<GatewayOptions, 'baseDir' | 'onUnusable'> {
  readonly platform: GatewayPlatform
  readonly holder: string
  readonly slices: readonly ChannelSlice[]
}

async function openStore(
  { data, store }: Config,
  { baseDir, platform, holder, onUnusable, slices }: StorePosition,
): Promise<GatewayStore> {
  const directory = resolve(baseDir, data)
  makeDataDirectory(directory)
  const { now, log } = platform
  const channels = slices.map(({ module }) => module.descriptor)
  const [bytes] = slices.flatMap(({ module, config }) => module.openBytes?.(config, platform) ?? [])
  if (isPostgresUrl(store)) return openPostgresStore({ url: store, now, log, channels, holder, onUnusable, bytes })
  if (store !== 'sqlite') throw new ConfigError('store', 'is no store', 'Use "sqlite" or "postgres://…".')
  return openSqliteStore({ path: join(directory, 'postern.db'), now, log, channels, exclusive: true, bytes })
}
