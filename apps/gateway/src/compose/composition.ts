import type { ServerResponse } from 'node:http'
import type { Channel, Listening, PeopleDeps } from '@postern/core'
import { openIdentity } from '@postern/identity'
import { createByteBudget } from '@postern/limits'
import { watchOverdue } from '@postern/requirements'
import type { Hono } from 'hono'
import { createTokenCheck } from '../commands/operator-token.ts'
import { findScopes } from '../config/channel-slices.ts'
import { hasRole } from '../config/own-schema.ts'
import { toListenError } from '../http/server.ts'
import type { TokenMeter } from '../observe/metrics.ts'
import type { Telemetry } from '../observe/telemetry/open-telemetry.ts'
import type { GatewayPlatform } from '../platform/platform.ts'
import { noteLookups, openLocalFetch } from '../platform/platform.ts'
import type { PausedAgents } from '../work/paused-agents.ts'
import { openPausedAgents } from '../work/paused-agents.ts'
import type { Work } from '../work/work.ts'
import { noWork, openLinkCodes, startWork } from '../work/work.ts'
import type { AppOptions } from './create-app.ts'
import { createApp } from './create-app.ts'
import type { Foundation } from './foundation.ts'
import { listConcurrency } from './foundation.ts'

/** What outlasts a change of the configuration. */
export interface CompositionDeps extends Omit<AppOptions, 'bodies' | 'paused' | 'leaving'> {
  readonly meter: TokenMeter
  /** Absent where nothing is traced. */
  readonly telemetry: Pick<Telemetry, 'traceparentOf'> | undefined
}

/** What one configuration makes: channels, routes, and the platform that they go out by. Nothing listens or works yet. */
export interface Composition {
  readonly foundation: Foundation
  readonly app: Hono
  readonly platform: GatewayPlatform
  readonly requests: OpenRequests
  readonly people: PeopleDeps
  readonly paused: PausedAgents
  /** Ends what is told to those who follow the gateway. */
  endStreams(): void
}

/** A composition at work. */
export interface StartedComposition extends Composition {
  /** Sockets of its channels. */
  sockets: readonly ChannelSocket[]
  readonly work: Work
  endWatch(): Promise<void>
}

export interface ChannelSocket {
  readonly channel: Channel<Hono>
  readonly listening: Listening
}

/** @throws ConfigError */
export async function compose(foundation: Foundation, deps: CompositionDeps): Promise<Composition> {
  const bodies = createByteBudget({
    total: foundation.config.limits.held_bytes,
    refusal: 'Cannot take request: too many large ones are on their way',
  })
  const platform = await openChannels(foundation, {
    operatorToken: deps.operatorToken,
    bodies,
    app: { fetch: (request, env) => app.fetch(request, env) },
  })
  const { config, store } = foundation
  const paused = await openPausedAgents({ store, concurrency: listConcurrency(config.agents) })
  const leaving = new AbortController()
  const app = createApp(foundation, { ...deps, bodies, paused, leaving: leaving.signal })
  const people = await openLinkCodes(foundation.store)
  return {
    foundation,
    app,
    platform,
    people,
    paused,
    requests: createOpenRequests(),
    endStreams: () => leaving.abort(),
  }
}

/** What is open stands in `sockets`, also when a later one cannot be opened. @throws ConfigError */
export async function openChannelSockets({ foundation }: Composition, sockets: ChannelSocket[]): Promise<void> {
  for (const channel of listTaking(foundation)) {
    const listening = await openSocket(channel)
    if (listening) sockets.push({ channel, listening })
  }
}

/** The channels that take messages here. */
export function listTaking({ config, channels }: Pick<Foundation, 'config' | 'channels'>): readonly Channel<Hono>[] {
  return hasRole(config, 'ingress') ? channels : []
}

/** @throws ConfigError */
export async function openSocket(channel: Channel<Hono>, former?: Listening): Promise<Listening | undefined> {
  try {
    return await channel.listen?.(former)
  } catch (cause) {
    throw toListenError(`${channel.descriptor.name}.listen`, cause as Error)
  }
}

/** Starts the worker, and the watch over requirements that nobody decides; neither without the role. */
export function startComposition(
  composition: Composition,
  sockets: readonly ChannelSocket[],
  { meter, telemetry }: Pick<CompositionDeps, 'meter' | 'telemetry'>,
): StartedComposition {
  const { foundation, platform, people, paused } = composition
  const { store, decisions, config } = foundation
  if (!hasRole(config, 'worker')) return { ...composition, sockets, work: noWork, endWatch: async () => undefined }
  const work = startWork({
    ...foundation,
    platform,
    requirements: foundation.requirements.states,
    people,
    countUsage: meter.count,
    traceparentOf: telemetry?.traceparentOf,
    turnsOf: paused.turnsOf,
  })
  const leaving = new AbortController()
  const watching = watchOverdue({ store, decisions, platform: foundation.platform }, leaving.signal)
  const endWatch = () => {
    leaving.abort()
    return watching
  }
  return { ...composition, sockets, work, endWatch }
}

/** Answers peers that wait with what there is now. */
export function releaseChannels({ foundation, endStreams }: Composition): void {
  endStreams()
  for (const channel of foundation.channels) channel.release?.()
}

export async function closeChannels({ channels }: Pick<Foundation, 'channels'>): Promise<void> {
  await Promise.all(channels.map(channel => channel.close?.()))
}

interface ChannelOpening extends Pick<AppOptions, 'operatorToken' | 'bodies'> {
  /** The program's own routes, as soon as they are there. */
  readonly app: Pick<Hono, 'fetch'>
}

/**
 * Opens each channel of the list with what it may need. @returns the platform that channels and agents go out by: what leaves for one of our own
 * agents stays in the gateway, and passes its endpoints like everything else
 */
async function openChannels(
  foundation: Foundation,
  { operatorToken, bodies, app }: ChannelOpening,
): Promise<GatewayPlatform> {
  const { config, slices, channels, store, decisions, agents, attachments, requirements, operators } = foundation
  const { loop } = config.limits
  const origins = [config.origin, `https://${foundation.domain}`]
  const platform = { ...foundation.platform, ...openLocalFetch(foundation.platform, { app, origins, channels }) }
  const context = {
    channels,
    bodies,
    platform: noteLookups(platform, store),
    store,
    admission: { rules: foundation.admissionRules, store },
    decisions,
    identity: openIdentity(config.identity, { platform: foundation.platform, store }),
    agents,
    fileAddress: attachments.fileAddress,
    showRequirement: requirements.showRequirement,
    requirementClaims: requirements.requirementClaims,
    maxHops: loop.max_hops,
    maxMentions: loop.max_mentions,
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
  for (const { module, config: own } of slices) channels.push(await module.open(own, context))
  return platform
}

/** Requests that are being answered, so that nothing they use is closed too early. */
interface OpenRequests {
  /** Counts a request until the end of its answer. `env`: what the server hands over beside the request. */
  add(env: unknown): void
  /** Resolves when none is open. */
  ended(): Promise<void>
}

function createOpenRequests(): OpenRequests {
  let open = 0
  const waiting = new Set<() => void>()
  const leave = () => {
    open -= 1
    if (open > 0) return
    for (const wake of waiting) wake()
    waiting.clear()
  }
  return {
    add(env) {
      const answer = (env as { readonly outgoing?: ServerResponse } | undefined)?.outgoing
      if (!answer) return
      open += 1
      answer.once('close', leave)
    },
    async ended() {
      if (open > 0) await new Promise<void>(resolve => waiting.add(resolve))
    },
  }
}
