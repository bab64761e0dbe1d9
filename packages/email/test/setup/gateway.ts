// Opens the mail channel with a store, agents and the simulation.

import { randomBytes } from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { createGuardedFetch } from '@postern/http'
import type { NormalizedMessage, SubmitMail, System } from '@postern/message'
import { noLog } from '@postern/message'
import type {
  Agent,
  AgentDirectory,
  Channel,
  ChannelContext,
  ListeningSocket,
  MessageRecord,
  Store,
} from '@postern/pipeline'
import { createSlidingWindowPolicy, defaultRetryPolicy, startWorker } from '@postern/pipeline'
import type { ComposedMail, MailPlan, Simulation } from '@postern/simulation'
import { openSimulation } from '@postern/simulation'
import { openSqliteStore } from '@postern/store'
import { sketchedChannels } from '@postern/testing'
import type { Hono } from 'hono'
import type { z } from 'zod'
import type { MailLimits } from '../../src/config/limits.ts'
import { mailLimitsSchema } from '../../src/config/limits.ts'
import { emailConfigSchema, openEmail } from '../../src/index.ts'
import type { MimePool } from '../../src/pool/pool.ts'
import { createMimePool } from '../../src/pool/pool.ts'
import { createMailSubmitter } from '../../src/submit/submit-mail.ts'

export const mailDomain = 'agents.test'
export const mailIntakeSecret = 'a-secret-for-the-intake'

/** The response of the mail intake. */
export interface MailIntakeAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: {
    readonly code?: string
    readonly detail?: string
    readonly status?: unknown
    readonly messages?: unknown
  }
}

/** A gateway with the mail channel, for a test. */
export interface MailGateway {
  readonly simulation: Simulation
  readonly system: System & { advance(ms: number): void }
  readonly store: Store
  readonly channel: Channel<Hono>
  readonly listening: ListeningSocket | undefined
  /** The messages that the agents got. */
  readonly receivedMessages: readonly NormalizedMessage[]
  /** Posts octets to the intake, with the envelope in the query. */
  post(
    octets: Uint8Array | string,
    envelope?: Readonly<Record<string, string | readonly string[]>>,
  ): Promise<MailIntakeAnswer>
  /** Composes a mail with the simulation, and posts it to the intake. */
  postMail(plan: Partial<MailPlan>): Promise<{ readonly mail: ComposedMail; readonly answer: MailIntakeAnswer }>
  /** Returns the newest stored message. */
  readLatestMessage(): Promise<MessageRecord>
  close(): Promise<void>
}

interface MailGatewayOptions {
  readonly config?: z.input<typeof emailConfigSchema> | undefined
  readonly agents?: Readonly<Record<string, Agent>> | undefined
  /** True if a worker runs the agents. By default no worker runs, and messages stay in their initial state. */
  readonly runsAgents?: boolean | undefined
  readonly bodies?: ChannelContext['bodies']
  /** Replaces real time. */
  readonly sleep?: System['sleep'] | undefined
  wrapStore?(store: Store): Store
  /** Hosts that are fetched from a port of this machine. */
  readonly loopback?: Readonly<Record<string, number>> | undefined
  /** Replaces the simulation's sink of sent mail. */
  readonly submitMail?: SubmitMail | undefined
}

/** Returns the text of a part. The details of a mail are not repeated. */
function listPartTexts(part: NormalizedMessage['parts'][number]): string[] {
  if (part.kind === 'text') return [part.content]
  return part.kind === 'file' ? ['[file]'] : []
}

/** An agent that answers with the text of the message. */
export const mailEcho: Agent = {
  handle: ({ parts }) => parts.flatMap(listPartTexts).join('\n'),
}

/** Budgets without effect, because tests send more mail than people do. Tests of the budgets set their own. */
export const noBudgets = {
  correspondent_per_hour: 1e6,
  thread_per_hour: 1e6,
  thread_per_day: 1e6,
  rapid_per_hour: 1e6,
  repeats_per_hour: 1e6,
  restarts_per_day: 1e6,
  unverified_per_day: 1e6,
  unverified_per_hour: 1e6,
  reply_all_per_hour: 1e6,
} as const

const sleep: System['sleep'] = (ms, signal) => delay(ms, undefined, signal && { signal }).catch(() => undefined)

let sharedPool: MimePool | undefined

/**
 * Returns the parser threads that all gateways of this process share with the usual limits, because starting a thread takes longer than
 * most tests.
 */
function getSharedPool(limits: MailLimits): MimePool | undefined {
  const usualLimits = mailLimitsSchema.parse({})
  if (!isDeepStrictEqual(limits, usualLimits)) return undefined
  sharedPool ??= createMimePool({ limits: usualLimits, system: { sleep, log: noLog } })
  return { run: sharedPool.run, close: async () => undefined }
}

/** Opens a gateway with the mail channel, a store in memory, agents and the simulation. */
export async function openMailGateway(options: MailGatewayOptions = {}): Promise<MailGateway> {
  const simulation = await openSimulation()
  let clockOffsetMs = 0
  const log = noLog
  const submit = createMailSubmitter(simulation.mail.submit, log)
  const fetch = createGuardedFetch({ userAgent: 'test', ...(options.loopback && { loopback: options.loopback }) })
  const resolver = new Resolver({ timeout: 5_000, tries: 2 })
  resolver.setServers([...simulation.network.dns])
  const system = {
    fetch,
    resolveDns: (name: string, type: string) => resolver.resolve(name, type),
    submitMail: options.submitMail ?? submit,
    now: () => Date.now() + clockOffsetMs,
    randomBytes: (count: number) => randomBytes(count),
    sleep: options.sleep ?? sleep,
    log,
    advance: (ms: number) => {
      clockOffsetMs += ms
    },
  }
  const store = await openSqliteStore({ channels: sketchedChannels, path: ':memory:', now: system.now, log })
  const receivedMessages: NormalizedMessage[] = []
  const agents = new Map(Object.entries(options.agents ?? { echo: mailEcho, helper: mailEcho }))
  const channels: Channel<Hono>[] = []
  const wrappedStore = options.wrapStore?.(store) ?? store
  const gateway: ChannelContext = {
    channels,
    system,
    store: wrappedStore,
    admission: { rules: [], store: wrappedStore },
    decisions: wrappedStore,
    agents: createMailDirectory([...agents.keys()]),
    bodies: options.bodies,
  }
  const config = emailConfigSchema.parse({
    intake: { secret: mailIntakeSecret },
    budgets: noBudgets,
    ...options.config,
  })
  const channel = openEmail(config, gateway, { pool: getSharedPool(config.limits) })
  channels.push(channel)
  const closeAll = async () => {
    await channel.endpoint.close?.()
    submit.close()
    fetch.close()
    await store.close()
    await simulation.close()
  }
  const listening = await channel.endpoint.listen?.().catch(async error => {
    await closeAll()
    throw error
  })
  simulation.connectGateway({
    origin: `https://${mailDomain}`,
    port: 1,
    smtpPort: listening?.port,
    intakeSecret: mailIntakeSecret,
  })
  const stop = options.runsAgents ? startTestWorker({ store, system, channel, agents, receivedMessages }) : undefined

  const post: MailGateway['post'] = async (octets, envelope = { to: `echo@${mailDomain}` }) => {
    const query = new URLSearchParams(
      Object.entries(envelope).flatMap(([name, value]) => [value].flat().map(text => [name, text])),
    )
    const request = new Request(`https://${mailDomain}/email/inbound?${query}`, {
      method: 'POST',
      headers: { 'content-type': 'message/rfc822', authorization: `Bearer ${mailIntakeSecret}` },
      body: typeof octets === 'string' ? Buffer.from(octets.replace(/\r?\n/g, '\r\n')) : Buffer.from(octets),
    })
    const response = await channel.endpoint.routes.fetch(request, {
      incoming: { socket: { remoteAddress: '127.0.0.1' } },
    })
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as MailIntakeAnswer['body'],
    }
  }

  return {
    simulation,
    system,
    store,
    channel,
    listening,
    receivedMessages,
    post,
    async postMail(plan) {
      const mail = await simulation.mail.compose({ to: `echo@${mailDomain}`, text: 'Hello there.', ...plan })
      const { envelope, ip, helo, octets } = mail
      return { mail, answer: await post(octets, { ...envelope, ip, helo }) }
    },
    async readLatestMessage() {
      const [summary] = await store.listMessages({ limit: 1 })
      const record = summary && (await store.findMessage(summary.id))
      if (!record) throw new Error('nothing is stored')
      return record
    },
    async close() {
      await stop?.()
      await listening?.close()
      await closeAll()
    },
  }
}

/** Creates the directory of agents with these names. */
export function createMailDirectory(names: readonly string[]): AgentDirectory {
  const profiles = names.map(name => ({
    name,
    displayName: `${name.slice(0, 1).toUpperCase()}${name.slice(1)} the Agent`,
    description: 'An agent',
    version: '1.0.0',
  }))
  return {
    domain: mailDomain,
    origin: `https://${mailDomain}`,
    defaultAgent: names[0],
    find: name => profiles.find(profile => profile.name === name),
    list: () => profiles,
  }
}

interface TurnContext {
  readonly store: Store
  readonly system: System
  readonly channel: Channel<Hono>
  readonly agents: ReadonlyMap<string, Agent>
  readonly receivedMessages: NormalizedMessage[]
}

function startTestWorker({ store, system, channel, agents, receivedMessages }: TurnContext): () => Promise<void> {
  const channels = [channel]
  const retry = { ...defaultRetryPolicy, initialDelayMs: 20 }
  const turnContext = {
    store,
    system,
    retry,
    maxCrashes: 3,
    findAgent: (name: string) => {
      const agent = agents.get(name)
      return (
        agent && {
          agent: recordReceivedMessages(agent, receivedMessages),
          history: createSlidingWindowPolicy(),
          deadlineMs: 5_000,
        }
      )
    },
    channels,
    presentParts: (parts: readonly NormalizedMessage['parts'][number][]) => [...parts],
    readAttachment: async () => ({ bytes: new Uint8Array() }),
  }
  const slots = {
    holder: 'test',
    turnSlots: 4,
    turnsPerAgent: 4,
    deliverySlots: 4,
    deliveriesPerHost: 4,
    leaseMs: 30_000,
  }
  const worker = startWorker(turnContext, { system, retry, channels }, system, slots)
  return () => worker.stop(1_000)
}

function recordReceivedMessages(agent: Agent, receivedMessages: NormalizedMessage[]): Agent {
  return {
    handle(message, context) {
      receivedMessages.push(message)
      return agent.handle(message, context)
    },
  }
}
