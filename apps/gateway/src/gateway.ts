import type { AgentDeps } from '@postern/agents'
import type { Channel, Listening, Store } from '@postern/core'
import type { Hono } from 'hono'
import type { OperatorRoute } from './api/operation.ts'
import { channelModules } from './channels.ts'
import { compose } from './compose/composition.ts'
import type { AppOptions } from './compose/create-app.ts'
import type { FoundationOptions } from './compose/foundation.ts'
import { openFoundation } from './compose/foundation.ts'
import type { Succession } from './compose/succession.ts'
import { createSuccession } from './compose/succession.ts'
import type { AnyChannelModule } from './config/channel-slices.ts'
import type { Config } from './config/schema.ts'
import { noTrustedProxy, trustsNoProxy } from './config/trusted-proxies.ts'
import { createReadiness } from './http/readiness.ts'
import { listenHttp } from './http/server.ts'
import { createMetrics, createTokenMeter } from './observe/metrics.ts'
import { openStages } from './observe/telemetry/observe-store.ts'
import type { GatewayPlatform } from './platform/platform.ts'
import { createSignInCodes } from './sign-in/sessions.ts'
import { startRunNotes } from './work/work.ts'

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
  /** Opens the agents anew, while everything else goes on. @throws ConfigError when one cannot be; then all stay as they are */
  reloadAgents(): Promise<void>
  /**
   * Goes on with another configuration, of the same origin, HTTP socket and store, where `isReloadable` was said. What runs ends as it began.
   * @returns what it listens on then. @throws ConfigError, AggregateError of them; then all stays as it is
   */
  reload(config: Config): Promise<readonly Listening[]>
  /** Takes nothing new, finishes or gives back what runs, closes. Within 10 s; also after a start that failed. */
  stop(): Promise<void>
}

interface GatewayOptions extends Omit<FoundationOptions, 'modules' | 'onStage'> {
  readonly operatorToken: string
  /** Default: the program's own list. */
  readonly modules?: readonly AnyChannelModule[] | undefined
  /** Operations of the operator's API that only dev mode has. */
  readonly extraOperations?: readonly OperatorRoute[]
  /** Every value of a configuration with its source, for the operator. Default: none is listed. */
  readonly listSettings?: AppOptions['listSettings'] | undefined
  /** Whether its configuration may change while it runs: answers are counted then. Default: no. */
  readonly isReloadable?: boolean | undefined
  /** How long turns and deliveries may still run when the gateway stops; default 8 s. */
  readonly shutdownGraceMs?: number | undefined
}

/** Wires the gateway: platform, store, agents, channels, routes, worker. */
export async function openGateway(config: Config, options: GatewayOptions): Promise<Gateway> {
  const {
    operatorToken,
    extraOperations = [],
    modules = channelModules,
    shutdownGraceMs = 8_000,
    isReloadable = false,
    listSettings = () => [],
  } = options
  const stages = await openStages(config.telemetry)
  const foundationOptions = { ...options, modules, onStage: stages.onStage }
  const first = await openFoundation(config, foundationOptions)
  const { store, agents, platform } = first
  const meter = createTokenMeter()
  const metrics = createMetrics(store, { meter, stageMeter: stages.meter }, platform.now)
  const readiness = createReadiness({ checkWrites: store.checkWrites, sleep: platform.sleep, log: platform.log })
  const signInCodes = createSignInCodes()
  const { isReady } = readiness
  const activity = {
    listListening: () => (http ? [http, ...running.listSockets()] : []),
    listLeftAlone: () => running.listLeftAlone(),
  }
  const reporting = { meter, metrics, telemetry: stages.telemetry }
  const deps = { operatorToken, ...reporting, extraOperations, isReady, signInCodes, listSettings, activity }
  const running: Succession = createSuccession(await compose(first, deps), { deps, options: foundationOptions })
  let http: Listening | undefined
  let endRun: (() => Promise<void>) | undefined
  return {
    ...{ store, agents, platform, operatorToken },
    makeSignInCode: signInCodes.make,
    get app() {
      return running.current().app
    },
    get channels() {
      return running.current().foundation.channels
    },
    async start() {
      if (trustsNoProxy(config)) platform.log.warn({ fix: noTrustedProxy.fix }, noTrustedProxy.message)
      http = await listenHttp(isReloadable ? { fetch: running.serve } : running.current().app, config.listen)
      endRun = await startRunNotes({ store, holder: first.holder, platform })
      const listening = [http, ...(await running.start())]
      readiness.open()
      return listening
    },
    reloadAgents: running.reloadAgents,
    reload: async changed => [...(http ? [http] : []), ...(await running.reload(changed))],
    async stop() {
      readiness.close()
      await running.stop({ graceMs: shutdownGraceMs, http })
      await endRun?.()
      await agents.close()
      metrics.close()
      await stages.telemetry?.close()
      platform.close()
      await store.close()
    },
  }
}
