import type { AgentDeps } from '@postern/agents'
import type { Channel, Listening, Store } from '@postern/core'
import { createByteBudget } from '@postern/limits'
import { watchOverdue } from '@postern/requirements'
import type { Hono } from 'hono'
import type { OperatorRoute } from './api/operation.ts'
import { channelModules } from './channels.ts'
import { createApp } from './compose/create-app.ts'
import type { Foundation, FoundationOptions } from './compose/foundation.ts'
import { openFoundation } from './compose/foundation.ts'
import { openChannels } from './compose/open-channels.ts'
import type { AnyChannelModule } from './config/channel-slices.ts'
import type { Config } from './config/schema.ts'
import { noTrustedProxy, trustsNoProxy } from './config/trusted-proxies.ts'
import { listenHttp, toListenError } from './http/listen.ts'
import { createReadiness } from './http/readiness.ts'
import { createMetrics } from './observe/metrics.ts'
import type { TokenMeter } from './observe/token-meter.ts'
import { createTokenMeter } from './observe/token-meter.ts'
import type { GatewayPlatform } from './platform/platform.ts'
import { createSignInCodes } from './sign-in/codes.ts'
import { openLinkCodes } from './work/link-codes.ts'
import type { Work } from './work/work.ts'
import { startWork } from './work/work.ts'

export interface Gateway {
  readonly app: Hono
  readonly store: Store
  readonly agents: AgentDeps
  readonly platform: GatewayPlatform
  readonly operatorToken: string
  readonly channels: readonly Channel<Hono>[]
  /** A code that opens the console once, for a link to it. */
  makeSignInCode(): string
  /** Opens the sockets and starts to work. */
  start(): Promise<readonly Listening[]>
  /** Lets the agents be opened anew, while everything else goes on. @throws ConfigError when one cannot be; then all stay as they are */
  reloadAgents(): Promise<void>
  /** Takes nothing new, finishes or gives back what runs, closes. Within 10 s; also after a start that failed. */
  stop(): Promise<void>
}

interface GatewayOptions extends Omit<FoundationOptions, 'modules'> {
  readonly operatorToken: string
  /** Default: the program's own list. */
  readonly modules?: readonly AnyChannelModule[] | undefined
  /** Operations of the operator's API that only dev mode has. */
  readonly extraOperations?: readonly OperatorRoute[]
  /** How long turns and deliveries may still run when the gateway stops; default 8 s. */
  readonly shutdownGraceMs?: number | undefined
}

type Close = () => Promise<unknown> | unknown

/** Wires the gateway: platform, store, agents, channels, routes, worker. */
export async function openGateway(
  config: Config,
  {
    operatorToken,
    extraOperations = [],
    modules = channelModules,
    shutdownGraceMs = 8_000,
    ...options
  }: GatewayOptions,
): Promise<Gateway> {
  const foundation = await openFoundation(config, { ...options, modules })
  const { channels, platform, store, agents } = foundation
  const bodies = createByteBudget({
    total: config.limits.held_bytes,
    refusal: 'Cannot take request: too many large ones are on their way',
  })
  const ownPlatform = await openChannels(foundation, {
    operatorToken,
    bodies,
    app: { fetch: (request, env) => app.fetch(request, env) },
  })
  const meter = createTokenMeter()
  const metrics = createMetrics(store, meter, platform.now)
  const readiness = createReadiness({ checkWrites: store.checkWrites, sleep: platform.sleep, log: platform.log })
  const { isReady } = readiness
  const signInCodes = createSignInCodes()
  const app = createApp(foundation, { operatorToken, bodies, metrics, extraOperations, isReady, signInCodes })
  const listening: Listening[] = []
  let restartAgents = () => {}
  const closers: Close[] = [() => Promise.all(listening.map(socket => socket.close()))]
  return {
    ...{ app, store, agents, platform, operatorToken, channels },
    makeSignInCode: signInCodes.make,
    async start() {
      await openSockets(app, foundation, listening)
      const started = await startAll(foundation, { platform: ownPlatform, meter, shutdownGraceMs })
      closers.push(...started.closers)
      restartAgents = started.restartAgents
      readiness.open()
      return listening
    },
    async reloadAgents() {
      await agents.reload()
      restartAgents()
    },
    async stop() {
      readiness.close()
      for (const channel of channels) channel.release?.()
      await Promise.all(closers.map(close => close()))
      await Promise.all(channels.map(channel => channel.close?.()))
      await agents.close()
      metrics.close()
      platform.close()
      await store.close()
    },
  }
}

/** What is open stands in `listening`, also when a later one cannot be opened. @throws ConfigError */
async function openSockets(
  app: Hono,
  { config, channels, platform }: Foundation,
  listening: Listening[],
): Promise<void> {
  if (trustsNoProxy(config)) platform.log.warn({ fix: noTrustedProxy.fix }, noTrustedProxy.message)
  listening.push(await listenHttp(app, config.listen))
  for (const channel of channels) {
    const opened = await channel.listen?.().catch(cause => {
      throw toListenError(`${channel.descriptor.name}.listen`, cause)
    })
    if (opened) listening.push(opened)
  }
}

interface Started {
  readonly platform: GatewayPlatform
  readonly meter: TokenMeter
  readonly shutdownGraceMs: number
}

interface StartedWork extends Pick<Work, 'restartAgents'> {
  readonly closers: readonly Close[]
}

/** Starts the worker, and the watch over requirements that nobody decides. */
async function startAll(foundation: Foundation, { platform, meter, shutdownGraceMs }: Started): Promise<StartedWork> {
  const { store, decisions } = foundation
  const people = await openLinkCodes(store)
  const work = startWork({
    ...foundation,
    platform,
    requirements: foundation.requirements.states,
    people,
    countUsage: meter.count,
  })
  const leaving = new AbortController()
  const watching = watchOverdue({ store, decisions, platform: foundation.platform }, leaving.signal)
  const endWatch = () => {
    leaving.abort()
    return watching
  }
  return { restartAgents: work.restartAgents, closers: [() => work.stop(shutdownGraceMs), endWatch] }
}
