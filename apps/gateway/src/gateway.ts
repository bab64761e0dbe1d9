import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { createFormerAgents } from '@postern/activitypub'
import type { AgentHouse } from '@postern/agents'
import { createCallFinder, openAgents } from '@postern/agents'
import type { Channel, ChannelName, Desk, Listening, Log } from '@postern/core'
import { ConfigError, guardAccess, guardLoops } from '@postern/core'
import { joinTokenRules } from '@postern/http/tokens'
import { openIdentity } from '@postern/identity'
import { createByteBudget } from '@postern/limits'
import { openPolicy, watchOverdue } from '@postern/policy'
import type { StoreDesk } from '@postern/store'
import { isPostgresUrl, openPostgresDesk, openSqliteDesk } from '@postern/store'
import { openS3Bytes } from '@postern/web'
import type { Hono } from 'hono'
import { createAttachmentShelf } from './attachments.ts'
import { readDomainLists } from './config/domain-lists.ts'
import { handleHostOf } from './config/handle-host.ts'
import { readLoopLimits } from './config/loops.ts'
import type { Config } from './config/schema.ts'
import { listExtensions } from './discovery/extensions.ts'
import { listInbound } from './discovery/inbound.ts'
import { createDiscoveryRoutes } from './discovery/routes.ts'
import { assignLanes } from './lanes.ts'
import { createLimits } from './limits.ts'
import { listenHttp, toListenError } from './listen.ts'
import { createMetrics } from './metrics.ts'
import { createBanRoutes } from './operator/ban-routes.ts'
import { createFileRoutes } from './operator/file-routes.ts'
import { createQuestionRoutes } from './operator/operator-routes.ts'
import { createOwnerRoutes } from './operator/owner-routes.ts'
import { createProxyRoutes } from './operator/proxy-routes.ts'
import { createOperatorRoutes, createTokenCheck } from './operator/routes.ts'
import { createSharedRoutes } from './operator/shared-routes.ts'
import { createTranscriptRoutes } from './operator/transcript-routes.ts'
import { createViewRoutes } from './operator/view-routes.ts'
import { createOperatorRoom } from './operators.ts'
import { openOwnDoor } from './own-door.ts'
import { openPeopleHouse } from './people.ts'
import * as protocols from './protocols.ts'
import { createReadiness } from './readiness.ts'
import { createResolveWorld } from './resolve/resolve-world.ts'
import { makeDataDirectory } from './run-file.ts'
import { createServer } from './server.ts'
import { createTokenMeter } from './token-meter.ts'
import { createTrustedProxies, noTrustedProxy, trustsNoProxy } from './trusted-proxies.ts'
import { createUnknownProxies } from './unknown-proxies.ts'
import { softwareVersion } from './version.ts'
import { openOutpostHouse, startWork } from './work.ts'
import type { RealWorld } from './world.ts'
import { createWorld } from './world.ts'

export interface Gateway {
  readonly app: Hono
  readonly desk: Desk
  readonly agents: AgentHouse
  readonly world: RealWorld
  readonly operatorToken: string
  readonly channels: readonly Channel<Hono>[]
  /** Opens the sockets and starts to work. */
  start(): Promise<readonly Listening[]>
  /** Takes nothing new, finishes or gives back what runs, closes. Within 10 s; also after a start that failed. */
  stop(): Promise<void>
}

export interface GatewayOptions {
  /** Where relative paths of the configuration start. */
  readonly baseDir: string
  readonly log: Log
  readonly operatorToken: string
  /** Nothing can be stored any more, for good. */
  readonly onUnusable?: ((error: ConfigError) => void) | undefined
  /** Routes that only dev mode has. */
  readonly extraRooms?: readonly Hono[]
}

const shutdownGraceMs = 8_000

/** Wires the house: world, desk, agents, channels, routes, worker. */
export async function openGateway(
  config: Config,
  { baseDir, log, operatorToken, onUnusable, extraRooms = [] }: GatewayOptions,
): Promise<Gateway> {
  const world = createWorld(config, log)
  const activitypub = readDomainLists(config.activitypub, { baseDir, log })
  // A container that is started again has the name and number of the one before.
  const holder = `${hostname()}:${process.pid}:${randomBytes(4).toString('hex')}`
  const desk = await openDesk(config, { baseDir, world, holder, onUnusable })
  const limits = createLimits(config, world.now)
  const domain = handleHostOf(config)
  const operators = createOperatorRoom({
    shelf: desk.shelf,
    desk,
    world,
    domain,
    openOutposts: () => openOutpostHouse({ desk, world, channels, shelf }),
  })
  const place = {
    domain,
    origin: config.origin,
    version: softwareVersion,
    baseDir,
    world,
    fetchFor: world.fetchFor,
    stores: desk,
    operators,
    log,
  }
  const agents = await openAgents(config.agents, config.default_agent ?? Object.keys(config.agents)[0], place)
  const attachmentKey = await desk.secret('attachments', async () => randomBytes(32).toString('base64'))
  const shelf = createAttachmentShelf({
    desk,
    origin: config.origin,
    key: attachmentKey,
    fetch: world.fetch,
    now: world.now,
  })
  const { demands, payments } = config
  const guarded = guardAccess(assignLanes(desk, config.agents), name => config.agents[name])
  const findCall = createCallFinder(desk.shelf)
  const policy = await openPolicy({ demands, payments, baseDir, desk: guarded, world, agents, findCall })
  const { loop } = config.limits
  // One person is the same on both channels: a token that one refuses is not taken by the other.
  const a2a = {
    ...config.a2a,
    auth: joinTokenRules(config.a2a.auth, config.web.auth),
    limits: { ...config.a2a.limits, max_hops: Math.min(config.a2a.limits.max_hops, loop.max_hops) },
  }
  // Whatever leaves for one of our own agents stays in the house, and passes its doors like everything else.
  const ways = openOwnDoor(world, {
    app: { fetch: (request, env) => app.fetch(request, env) },
    origins: [config.origin, `https://${domain}`],
  })
  const bodies = createByteBudget({
    total: config.limits.held_bytes,
    refusal: 'Cannot take request: too many large ones are on their way',
  })
  const house = {
    bodies,
    world: { ...world, ...ways },
    desk: guardLoops(limits.guardDesk(guarded), readLoopLimits(loop)),
    identity: openIdentity(config.identity, { world, desk }),
    agents,
    fileAddress: shelf.fileAddress,
    showDemand: policy.showDemand,
    demandClaims: policy.demandClaims,
    maxHops: loop.max_hops,
    maxMentions: loop.max_mentions,
  }
  const web = { ...config.web, auth: joinTokenRules(config.web.auth, config.a2a.auth) }
  const chatWays = {
    scopes: config.a2a.auth.scopes,
    findChannel: (name: ChannelName) => channels.find(channel => channel.name === name),
    isLinking: (name: string) => agents.findRunning(name)?.people?.link === true,
    approvals: policy.approvals,
    questions: operators,
    isOperatorToken: createTokenCheck(operatorToken),
  }
  const channels: readonly Channel<Hono>[] = [
    protocols.activitypub(activitypub, house),
    protocols.a2a(a2a, house),
    protocols.email(config.email, house),
    await protocols.web(web, house, Object.assign(Object.create(desk) as typeof desk, chatWays)),
  ]
  const meter = createTokenMeter()
  const metrics = createMetrics(desk, meter, world.now)
  const readiness = createReadiness({ checkWrites: desk.checkWrites, sleep: world.sleep, log })
  const trustedProxies = createTrustedProxies(config)
  const unknownProxies = createUnknownProxies(trustedProxies, log)
  const rooms = [
    createDiscoveryRoutes({
      agents,
      channels,
      auth: describeA2aAuth(config),
      inbound: listInbound(config),
      extensions: listExtensions(config),
      capabilities: config.a2a.capabilities,
      isFormerAgent: createFormerAgents(desk, agents),
    }),
    shelf.routes,
    policy.routes,
    createOperatorRoutes({
      desk,
      further: [
        createTranscriptRoutes({ desk, world }),
        createViewRoutes({ desk, world }),
        createOwnerRoutes(desk),
        createFileRoutes(desk),
        createQuestionRoutes(operators),
        createBanRoutes(desk.shelf),
        createProxyRoutes(unknownProxies),
        createSharedRoutes({ shelf: desk.shelf, agents: config.agents }),
      ],
      agents,
      channels,
      token: operatorToken,
      policy,
      acting: openOutpostHouse({ desk, world, channels, shelf }),
      openResolveWorld: () => createResolveWorld({ config, world, channels, app }),
    }),
    ...extraRooms,
  ]
  const app = createServer({
    channels,
    rooms,
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
    const { demands } = policy
    const people = await openPeopleHouse(desk)
    const ownWorld = { ...world, ...ways }
    const work = startWork({
      countUsage: meter.count,
      config: { ...config, a2a },
      desk,
      holder,
      world: ownWorld,
      agents,
      demands,
      people,
      channels,
      shelf,
    })
    closers.push(() => work.stop(shutdownGraceMs))
    const leaving = new AbortController()
    const watching = watchOverdue({ desk: guarded, world }, leaving.signal)
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
    world.close()
    await desk.close()
  }

  return { app, desk, agents, world, operatorToken, channels, start, stop }
}

interface DeskPlace extends Pick<GatewayOptions, 'baseDir' | 'onUnusable'> {
  readonly world: RealWorld
  readonly holder: string
}

async function openDesk(
  { data, store, web }: Config,
  { baseDir, world, holder, onUnusable }: DeskPlace,
): Promise<StoreDesk> {
  const directory = resolve(baseDir, data)
  makeDataDirectory(directory)
  const { now, log } = world
  const bytes = web.storage.kind === 's3' ? openS3Bytes(web.storage, world) : undefined
  if (isPostgresUrl(store)) return openPostgresDesk({ url: store, now, log, holder, onUnusable, bytes })
  if (store !== 'sqlite') throw new ConfigError('store', 'is no store', 'Use "sqlite" or "postgres://…".')
  return openSqliteDesk({ path: join(directory, 'postern.db'), now, log, exclusive: true, bytes })
}

function describeA2aAuth({ a2a }: Config): object {
  return a2a.auth.anonymous ? { scheme: 'none' } : { scheme: 'bearer-jwt' }
}
