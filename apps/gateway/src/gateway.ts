// Opens a gateway: system, store, agents, channels, routes and worker.
import type { AgentDeps } from '@postern/agents'
import type { OperatorRoute } from '@postern/operator'
import { createSignInCodes } from '@postern/operator'
import type { Channel, ListeningSocket } from '@postern/pipeline'
import type { Requirements } from '@postern/requirements'
import type { GatewayStore } from '@postern/store'
import type { Hono } from 'hono'
import { channelModules } from './channels.ts'
import type { CompositionDeps } from './compose/composition.ts'
import { compose } from './compose/composition.ts'
import type { AppOptions } from './compose/create-app.ts'
import type { ReloadableGateway } from './compose/reloadable-gateway.ts'
import { createReloadableGateway } from './compose/reloadable-gateway.ts'
import type { GatewayResources, ResourceOptions } from './compose/resources.ts'
import { openResources } from './compose/resources.ts'
import type { AnyChannelModule } from './config/channel-slices.ts'
import { noTrustedProxy, trustsNoProxy } from './config/missing-proxy.ts'
import type { Config } from './config/schema.ts'
import { listenHttp } from './http/listen.ts'
import { createReadiness } from './http/readiness.ts'
import type { HttpServer } from './http/server.ts'
import type { SecretMask } from './masking/secret-mask.ts'
import { createSecretMask } from './masking/secret-mask.ts'
import { createMetrics } from './observe/metrics.ts'
import { openStages } from './observe/telemetry/open-stages.ts'
import type { Telemetry } from './observe/telemetry/open-telemetry.ts'
import { createTokenMeter } from './observe/token-meter.ts'
import type { GatewaySystem } from './system/system.ts'
import type { AgentStarts } from './work/agent-starts.ts'
import { beginRun } from './work/gateway-run.ts'

export interface Gateway extends HttpServer {
  readonly store: GatewayStore
  readonly agents: AgentDeps
  readonly system: GatewaySystem
  readonly operatorToken: string
  readonly channels: readonly Channel<Hono>[]
  readonly requirements: Requirements
  /** Creates a code for a link that signs in to the console once. */
  createSignInCode(): string
  /** Opens the sockets and starts to work. @throws ConfigError if the data belongs to another gateway */
  start(): Promise<readonly ListeningSocket[]>
  /** Returns the newest `start()` of each agent. */
  starts(): AgentStarts
  /** Reopens the agents while everything else continues. If one cannot be opened, all stay unchanged. @throws ConfigError */
  reloadAgents(): Promise<void>
  /**
   * Continues with another configuration of the same origin, HTTP socket and store, if `isReloadable` was set. Running work ends under the former
   * one. If it fails, nothing changes.
   * @returns the open sockets.
   * @throws ConfigError, AggregateError of ConfigErrors
   */
  reload(config: Config): Promise<readonly ListeningSocket[]>
  /** Stops within 10 s, even after a failed start. Accepts nothing new, and finishes or returns the work that runs. */
  stop(): Promise<void>
}

interface GatewayOptions extends Omit<ResourceOptions, 'modules' | 'onStage' | 'mask'> {
  /** The mask that hides secrets. Absent for one that finds them by the names and forms of settings. */
  readonly mask?: SecretMask | undefined
  readonly operatorToken: string
  /** Absent for all channels of the program. */
  readonly modules?: readonly AnyChannelModule[] | undefined
  /** Operations of the operator's API that only dev mode has. */
  readonly extraOperations?: readonly OperatorRoute[]
  /** Returns every value of a configuration with its source, for the operator. Default: none. */
  readonly listSettings?: AppOptions['listSettings'] | undefined
  /** True if the configuration may change while the gateway runs, which then counts open answers. Default: false. */
  readonly isReloadable?: boolean | undefined
  /** True if the gateway reaches only simulated peers. Default: false. */
  readonly isSimulating?: boolean | undefined
  /** True if the store adopts the mode and the origin of this gateway. Default: false; the gateway then rejects a store of others. */
  readonly adopts?: boolean | undefined
  /** The time that turns and deliveries get to finish when the gateway stops, ms. Default: 8 s. */
  readonly shutdownGraceMs?: number | undefined
}

export async function openGateway(config: Config, options: GatewayOptions): Promise<Gateway> {
  const { operatorToken, extraOperations = [], shutdownGraceMs = 8_000, isReloadable, isSimulating, adopts } = options
  const { listSettings = () => ({ settings: [], agents_left_out: 0 }) } = options
  const stages = await openStages(config.telemetry)
  const resourceOptions = toResourceOptions(options, stages, () => http?.description)
  const firstResources = await openResources(config, resourceOptions)
  const { store, agents, system } = firstResources
  const reporting = openReporting(stages, firstResources)
  const readiness = openReadiness(() => reloadableGateway.findCurrentComposition().resources, system)
  const signInCodes = createSignInCodes()
  const activity = describeActivity({ findCompositions: () => reloadableGateway, findHttpSocket: () => http })
  const { isReady } = readiness
  const deps = { operatorToken, ...reporting, isReady, extraOperations, signInCodes, listSettings, activity }
  const reloadDeps = { deps, options: resourceOptions }
  const reloadableGateway: ReloadableGateway = createReloadableGateway(await compose(firstResources, deps), reloadDeps)
  let http: ListeningSocket | undefined
  let endRun: (() => Promise<void>) | undefined
  return {
    store,
    agents,
    system,
    operatorToken,
    createSignInCode: signInCodes.create,
    get app() {
      return reloadableGateway.findCurrentComposition().app
    },
    get routes() {
      return reloadableGateway.findCurrentComposition().routes
    },
    get channels() {
      return reloadableGateway.findCurrentComposition().resources.channels
    },
    get requirements() {
      return reloadableGateway.findCurrentComposition().resources.requirements
    },
    async start() {
      if (trustsNoProxy(config)) system.log.warn({ fix: noTrustedProxy.fix }, noTrustedProxy.message)
      endRun = await beginRun(firstResources, { isSimulating, adopts })
      const routes = isReloadable ? reloadableGateway.routes : reloadableGateway.findCurrentComposition().routes
      http = await listenHttp(routes, config.listen)
      const listening = [http, ...(await reloadableGateway.start())]
      readiness.open()
      return listening
    },
    starts: reloadableGateway.starts,
    reloadAgents: reloadableGateway.reloadAgents,
    reload: async changedConfig => [...(http ? [http] : []), ...(await reloadableGateway.reload(changedConfig))],
    async stop() {
      readiness.close()
      await reloadableGateway.stop({ graceMs: shutdownGraceMs, http })
      await endRun?.()
      await closeInOrder([agents, reporting.metrics, reporting.telemetry, system, store])
    },
  }
}

/** Opens the meter of tokens and the metrics, which report on the work of the gateway. */
function openReporting(
  { meter: stageMeter, telemetry }: Awaited<ReturnType<typeof openStages>>,
  { store, system }: Pick<GatewayResources, 'store' | 'system'>,
): Pick<CompositionDeps, 'meter' | 'metrics' | 'telemetry'> & { readonly telemetry: Telemetry | undefined } {
  const meter = createTokenMeter()
  return { meter, metrics: createMetrics(store.forOperators, { meter, stageMeter }, system.now), telemetry }
}

/** Closes each of the resources, one after the other. */
async function closeInOrder(resources: readonly ({ close(): unknown } | undefined)[]): Promise<void> {
  for (const resource of resources) await resource?.close()
}

interface ActivityDeps {
  findCompositions(): Pick<ReloadableGateway, 'listSockets' | 'listPausedHosts' | 'starts'>
  /** Returns the HTTP server's socket, or undefined before it runs. */
  findHttpSocket(): ListeningSocket | undefined
}

function describeActivity({
  findCompositions: running,
  findHttpSocket: http,
}: ActivityDeps): CompositionDeps['activity'] {
  return {
    listListening: () => [http() ?? [], http() ? running().listSockets() : []].flat(),
    listPausedHosts: () => running().listPausedHosts(),
    listFailedStarts: () => running().starts().listFailed(),
  }
}

/** Completes the options. In a simulated network nobody can reach the origin, so agents get the address on this machine. */
function toResourceOptions(
  options: GatewayOptions,
  { onStage }: Pick<ResourceOptions, 'onStage'>,
  findAddress: () => string | undefined,
): ResourceOptions {
  const { modules = channelModules, mask = createSecretMask(), isSimulating } = options
  return { ...options, modules, mask, onStage, ...(isSimulating && { findLocalAddress: findAddress }) }
}

/** Checks the disk as well as the database: the gateway is not ready if the disk is too full for any sender. */
function openReadiness(
  current: () => Pick<GatewayResources, 'freeSpace' | 'store'>,
  { sleep, log }: Pick<GatewaySystem, 'sleep' | 'log'>,
): ReturnType<typeof createReadiness> {
  async function checkWork(): Promise<void> {
    const { freeSpace, store } = current()
    freeSpace.check({ isProven: true })
    await store.checkWork()
  }
  return createReadiness({ checkWork, sleep, log })
}
