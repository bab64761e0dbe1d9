// Opens the channels and routes of one configuration, and starts and ends their work.
import type { ServerResponse } from 'node:http'
import { openIdentity } from '@postern/identity'
import { createBodyBudget } from '@postern/limits'
import { createTokenCheck } from '@postern/operator'
import type { Channel, LinkDeps, ListeningSocket } from '@postern/pipeline'
import { watchOverdue } from '@postern/requirements'
import type { Hono } from 'hono'
import { findScopes } from '../config/channel-slices.ts'
import { hasRole } from '../config/own-schema.ts'
import { toListenError } from '../http/listen-error.ts'
import { openRehearsals } from '../http/rehearsals.ts'
import type { HttpServer } from '../http/server.ts'
import type { Telemetry } from '../observe/telemetry/open-telemetry.ts'
import { describeTurnStep } from '../observe/telemetry/turn-step.ts'
import type { TokenMeter } from '../observe/token-meter.ts'
import { watchRetention } from '../storage/retention.ts'
import { localizeFetches } from '../system/local-fetch.ts'
import { recordFetches } from '../system/recording/record-fetches.ts'
import type { GatewaySystem } from '../system/system.ts'
import type { PausedAgents } from '../work/paused-agents.ts'
import { openPausedAgents } from '../work/paused-agents.ts'
import { announceRemovedAgents } from '../work/removed-agents.ts'
import type { Work } from '../work/work.ts'
import { noWork, openLinkCodes, startWork } from '../work/work.ts'
import type { AppOptions } from './create-app.ts'
import { createApp } from './create-app.ts'
import type { GatewayResources } from './resources.ts'
import { listConcurrency } from './resources.ts'

/** Dependencies that stay the same when the configuration changes. */
export interface CompositionDeps extends Omit<AppOptions, 'bodies' | 'paused' | 'streamsSignal' | 'rehearsals'> {
  readonly meter: TokenMeter
  /** Absent if the gateway writes no traces. */
  readonly telemetry: Pick<Telemetry, 'traceparentOf' | 'send'> | undefined
}

/** The channels, routes and system of one configuration. Nothing listens or works yet. */
export interface Composition extends HttpServer {
  readonly resources: GatewayResources
  readonly system: GatewaySystem
  readonly requests: OpenRequests
  readonly people: LinkDeps
  readonly paused: PausedAgents
  /** Ends the event streams of operators and stops watching paused agents. */
  endStreams(): void
}

/** A composition at work. */
export interface StartedComposition extends Composition {
  /** The open sockets of its channels. */
  sockets: readonly ChannelSocket[]
  readonly work: Work
  endWatch(): Promise<void>
}

export interface ChannelSocket {
  readonly channel: Channel<Hono>
  readonly listening: ListeningSocket
}

/** Opens the channels and routes of a configuration without listening or starting work. @throws ConfigError */
export async function compose(resources: GatewayResources, deps: CompositionDeps): Promise<Composition> {
  const bodies = createBodyBudget({
    maxBytes: resources.config.limits.held_bytes,
    refusal: 'Cannot take request: too many large ones are on their way',
  })
  const { config, store } = resources
  const rehearsals = await openRehearsals(store, resources.system.now)
  const people = await openLinkCodes(resources.store)
  const paused = await openPausedAgents({ store, concurrency: listConcurrency(config.agents) })
  const pendingSystem = openChannels(resources, {
    operatorToken: deps.operatorToken,
    bodies,
    isPaused: paused.isPaused,
    app: { fetch: (request, env) => app.fetch(request, env) },
  })
  const system = await pendingSystem.catch(error => {
    paused.close()
    throw error
  })
  const streamsEnd = new AbortController()
  const { app, routes } = createApp(resources, {
    ...deps,
    bodies,
    paused,
    rehearsals,
    streamsSignal: streamsEnd.signal,
  })
  return {
    resources,
    app,
    routes,
    system,
    people,
    paused,
    requests: createOpenRequests(),
    endStreams() {
      streamsEnd.abort()
      paused.close()
    },
  }
}

/** Opens the sockets of channels and adds each open one to `sockets`, even if a later one fails. @throws ConfigError */
export async function openChannelSockets({ resources }: Composition, sockets: ChannelSocket[]): Promise<void> {
  for (const channel of listReceivingChannels(resources)) {
    const listening = await openSocket(channel)
    if (listening) sockets.push({ channel, listening })
  }
}

/** Returns the channels that accept messages in this gateway. */
export function listReceivingChannels({
  config,
  channels,
}: Pick<GatewayResources, 'config' | 'channels'>): readonly Channel<Hono>[] {
  return hasRole(config, 'ingress') ? channels : []
}

/** Opens the socket of a channel. Returns undefined if the channel has none. @throws ConfigError */
export async function openSocket(
  channel: Channel<Hono>,
  formerListening?: ListeningSocket,
): Promise<ListeningSocket | undefined> {
  try {
    return await channel.endpoint.listen?.(formerListening)
  } catch (cause) {
    throw toListenError(`${channel.descriptor.name}.listen`, cause as Error)
  }
}

/** Starts the worker and its watches over requirements, retention and forgetting. Starts nothing without the role `worker`. */
export function startComposition(
  composition: Composition,
  sockets: readonly ChannelSocket[],
  {
    meter,
    telemetry,
    formerCompositions = [],
  }: Pick<CompositionDeps, 'meter' | 'telemetry'> & { readonly formerCompositions?: readonly StartedComposition[] },
): StartedComposition {
  const { resources, system, people, paused } = composition
  const { store, decisions, config } = resources
  if (!hasRole(config, 'worker')) return { ...composition, sockets, work: noWork, endWatch: async () => undefined }
  const work = startWork({
    ...resources,
    system,
    requirements: resources.requirements.states,
    people,
    countUsage: meter.count,
    traceparentOf: telemetry?.traceparentOf,
    onStepEnded: telemetry && ((turn, step) => telemetry.send(describeTurnStep(turn, step))),
    turnsOf: paused.turnsOf,
    turnsElsewhere: agent =>
      formerCompositions.reduce((sum, formerComposition) => sum + formerComposition.work.countTurns(agent), 0),
  })
  const watchEnd = new AbortController()
  const runningWatches = Promise.all([
    watchOverdue({ store, decisions, system: resources.system }, watchEnd.signal),
    watchRetention(resources, watchEnd.signal),
    resources.agentForgetting.watch(watchEnd.signal),
    announceRemovedAgents({ ...resources, system }),
  ])
  const endWatch = async () => {
    watchEnd.abort()
    await runningWatches
  }
  return { ...composition, sockets, work, endWatch }
}

/** Ends the event streams, and answers waiting peers at once with the current state of their messages. */
export function releaseChannels({ resources, endStreams }: Composition): void {
  endStreams()
  for (const channel of resources.channels) channel.endpoint.release?.()
}

export async function closeChannels({ channels }: Pick<GatewayResources, 'channels'>): Promise<void> {
  await Promise.all(channels.map(channel => channel.endpoint.close?.()))
}

interface OpenChannelsDeps extends Pick<AppOptions, 'operatorToken' | 'bodies'>, Pick<PausedAgents, 'isPaused'> {
  /** The gateway’s own routes; absent until they exist. */
  readonly app: Pick<Hono, 'fetch'>
}

/**
 * Opens each channel of the list.
 * @returns the system for channels and agents, which answers fetches of the gateway’s own agents without the
 * network, but through all checks of the endpoints
 */
async function openChannels(
  resources: GatewayResources,
  { operatorToken, bodies, isPaused, app }: OpenChannelsDeps,
): Promise<GatewaySystem> {
  const { config, slices, channels, store, decisions, agents, attachments, requirements, operators } = resources
  const { loop } = config.limits
  const origins = [config.origin, `https://${resources.domain}`]
  const system = localizeFetches(resources.system, { app, origins, channels })
  const context = {
    channels,
    system: recordFetches(system, store),
    store,
    admission: { rules: resources.admissionRules, store },
    decisions,
    identity: openIdentity(config.identity, { system: resources.system, store }),
    agents,
    isPaused,
    checkSpace: () => resources.freeSpace.check({ isProven: true }),
    fileAddress: attachments.fileAddress,
    showRequirement: requirements.showRequirement,
    requirementClaims: requirements.requirementClaims,
    maxHops: loop.max_hops,
    maxMentions: loop.max_mentions,
    baseDir: resources.baseDir,
    transcript: store.transcript,
    objects: store.objects,
    records: store.records,
    forgetChat: store.forgetChat,
    isLinking: (name: string) => agents.findRunning(name)?.people?.link === true,
    approvals: requirements.approvals,
    questions: operators,
    isOperatorToken: createTokenCheck(operatorToken),
    scopes: findScopes(slices),
  }
  for (const { module, config: channelConfig } of slices) {
    const channelContext = { ...context, bodies: bodies.forChannel(module.descriptor.name) }
    const channel = await module.open(channelConfig, channelContext)
    if (channel) channels.push(channel)
  }
  return system
}

/** Counts the requests that are being answered, so that nothing they use is closed too early. */
interface OpenRequests {
  /** Counts a request until its answer ends. `env` holds the server’s own objects for the request. */
  add(env: unknown): void
  /** Resolves when no request is open. */
  waitUntilIdle(): Promise<void>
}

function createOpenRequests(): OpenRequests {
  let openCount = 0
  const waiters = new Set<() => void>()
  const removeRequest = () => {
    openCount -= 1
    if (openCount > 0) return
    for (const wake of waiters) wake()
    waiters.clear()
  }
  return {
    add(env) {
      const response = (env as { readonly outgoing?: ServerResponse } | undefined)?.outgoing
      if (!response) return
      openCount += 1
      response.once('close', removeRequest)
    },
    async waitUntilIdle() {
      if (openCount > 0) await new Promise<void>(resolve => waiters.add(resolve))
    },
  }
}
