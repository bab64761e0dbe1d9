import { randomBytes } from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type {
  Agent,
  AgentDirectory,
  Channel,
  ChannelContext,
  Listening,
  MessageRecord,
  NormalizedMessage,
  Platform,
  Store,
  SubmitMail,
} from '@postern/core'
import { createSlidingWindowPolicy, defaultRetryPolicy, startWorker } from '@postern/core'
import { createGuardedFetch } from '@postern/http'
import type { ComposedMail, MailPlan, Simulation } from '@postern/simulation'
import { openSimulation } from '@postern/simulation'
import { openSqliteStore } from '@postern/store'
import { silentLog, sketchedChannels } from '@postern/testing'
import type { Hono } from 'hono'
import type { z } from 'zod'
import type { MailLimits } from '../../src/config/limits.ts'
import { mailLimitsSchema } from '../../src/config/limits.ts'
import { createMailSubmitter } from '../../src/deliver.ts'
import { emailConfigSchema, openEmail } from '../../src/index.ts'
import type { MimePool } from '../../src/mime/pool.ts'
import { createMimePool } from '../../src/mime/pool.ts'

export const mailDomain = 'agents.test'
export const mailIntakeSecret = 'a-secret-for-the-intake'

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

export interface MailGateway {
  readonly simulation: Simulation
  readonly platform: Platform & { advance(ms: number): void }
  readonly store: Store
  readonly channel: Channel<Hono>
  readonly listening: Listening | undefined
  /** The messages for the agents. */
  readonly heard: readonly NormalizedMessage[]
  /** Octets to the intake with the envelope in the query. */
  post(
    octets: Uint8Array | string,
    envelope?: Readonly<Record<string, string | readonly string[]>>,
  ): Promise<MailIntakeAnswer>
  /** Composed mail of the simulation to the intake. */
  postMail(plan: Partial<MailPlan>): Promise<{ readonly mail: ComposedMail; readonly answer: MailIntakeAnswer }>
  /** The newest stored message. */
  latest(): Promise<MessageRecord>
  close(): Promise<void>
}

interface MailGatewayOptions {
  readonly config?: z.input<typeof emailConfigSchema> | undefined
  readonly agents?: Readonly<Record<string, Agent>> | undefined
  /** Default false: no worker runs, messages stay as they came. */
  readonly works?: boolean | undefined
  readonly bodies?: ChannelContext['bodies']
  watchStore?(store: Store): Store
  /** Hosts that are fetched from a port of this machine. */
  readonly loopback?: Readonly<Record<string, number>> | undefined
  /** Instead of the sink of the simulation. */
  readonly submitMail?: SubmitMail | undefined
}

/** The details of a mail beside its words are not repeated. */
function sayPart(part: NormalizedMessage['parts'][number]): string[] {
  if (part.kind === 'text') return [part.content]
  return part.kind === 'file' ? ['[file]'] : []
}

export const mailEcho: Agent = {
  handle: ({ parts }) => parts.flatMap(sayPart).join('\n'),
}

/** Tests send more than people do; those of the budgets set their own. */
export const noBudgets = {
  correspondent_per_hour: 1e6,
  thread_per_hour: 1e6,
  thread_per_day: 1e6,
  rapid_per_hour: 1e6,
  repeats_per_hour: 1e6,
  unverified_per_day: 1e6,
  unverified_per_hour: 1e6,
  reply_all_per_hour: 1e6,
} as const

const sleep: Platform['sleep'] = (ms, signal) => delay(ms, undefined, signal && { signal }).catch(() => undefined)

let sharedPool: MimePool | undefined

/** The parser threads of all gateways of this process with the usual limits: starting one takes longer than most tests. */
function findSharedPool(limits: MailLimits): MimePool | undefined {
  const usual = mailLimitsSchema.parse({})
  if (!isDeepStrictEqual(limits, usual)) return undefined
  sharedPool ??= createMimePool({ limits: usual, platform: { sleep, log: silentLog } })
  return { run: sharedPool.run, close: async () => undefined }
}

export async function openMailGateway(options: MailGatewayOptions = {}): Promise<MailGateway> {
  const simulation = await openSimulation()
  let shift = 0
  const log = silentLog
  const submit = createMailSubmitter(simulation.mail.submit, log)
  const fetch = createGuardedFetch({ userAgent: 'test', ...(options.loopback && { loopback: options.loopback }) })
  const resolver = new Resolver({ timeout: 5_000, tries: 2 })
  resolver.setServers([...simulation.network.dns])
  const platform = {
    fetch,
    resolveDns: (name: string, type: string) => resolver.resolve(name, type),
    submitMail: options.submitMail ?? submit,
    now: () => Date.now() + shift,
    randomBytes: (count: number) => randomBytes(count),
    sleep,
    log,
    advance: (ms: number) => {
      shift += ms
    },
  }
  const store = await openSqliteStore({ channels: sketchedChannels, path: ':memory:', now: platform.now, log })
  const heard: NormalizedMessage[] = []
  const agents = new Map(Object.entries(options.agents ?? { echo: mailEcho, helper: mailEcho }))
  const channels: Channel<Hono>[] = []
  const watched = options.watchStore?.(store) ?? store
  const gateway: ChannelContext = {
    channels,
    platform,
    store: watched,
    admission: { rules: [], store: watched },
    decisions: watched,
    agents: createMailDirectory([...agents.keys()]),
    bodies: options.bodies,
  }
  const config = emailConfigSchema.parse({
    intake: { secret: mailIntakeSecret },
    budgets: noBudgets,
    ...options.config,
  })
  const channel = openEmail(config, gateway, { pool: findSharedPool(config.limits) })
  channels.push(channel)
  const listening = await channel.listen?.()
  simulation.connectGateway({
    origin: `https://${mailDomain}`,
    port: 1,
    smtpPort: listening?.port,
    intakeSecret: mailIntakeSecret,
  })
  const stop = options.works ? startTestWorker({ store, platform, channel, agents, heard }) : undefined

  const post: MailGateway['post'] = async (octets, envelope = { to: `echo@${mailDomain}` }) => {
    const query = new URLSearchParams(
      Object.entries(envelope).flatMap(([name, value]) => [value].flat().map(each => [name, each])),
    )
    const request = new Request(`https://${mailDomain}/email/inbound?${query}`, {
      method: 'POST',
      headers: { 'content-type': 'message/rfc822', authorization: `Bearer ${mailIntakeSecret}` },
      body: typeof octets === 'string' ? Buffer.from(octets.replace(/\r?\n/g, '\r\n')) : Buffer.from(octets),
    })
    const response = await channel.routes.fetch(request, { incoming: { socket: { remoteAddress: '127.0.0.1' } } })
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as MailIntakeAnswer['body'],
    }
  }

  return {
    simulation,
    platform,
    store,
    channel,
    listening,
    heard,
    post,
    async postMail(plan) {
      const mail = await simulation.mail.compose({ to: `echo@${mailDomain}`, text: 'Hello there.', ...plan })
      const { envelope, ip, helo, octets } = mail
      return { mail, answer: await post(octets, { ...envelope, ip, helo }) }
    },
    async latest() {
      const [summary] = await store.listMessages({ limit: 1 })
      const record = summary && (await store.findMessage(summary.id))
      if (!record) throw new Error('nothing is stored')
      return record
    },
    async close() {
      await stop?.()
      await listening?.close()
      await channel.close?.()
      submit.close()
      fetch.close()
      await store.close()
      await simulation.close()
    },
  }
}

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
  readonly platform: Platform
  readonly channel: Channel<Hono>
  readonly agents: ReadonlyMap<string, Agent>
  readonly heard: NormalizedMessage[]
}

function startTestWorker({ store, platform, channel, agents, heard }: TurnContext): () => Promise<void> {
  const channels = [channel]
  const retry = { ...defaultRetryPolicy, baseMs: 20 }
  const turnContext = {
    store,
    platform,
    retry,
    maxCrashes: 3,
    findAgent: (name: string) => {
      const agent = agents.get(name)
      return agent && { agent: eavesdrop(agent, heard), history: createSlidingWindowPolicy(), deadlineMs: 5_000 }
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
  const worker = startWorker(turnContext, { platform, retry, channels }, platform, slots)
  return () => worker.stop(1_000)
}

function eavesdrop(agent: Agent, heard: NormalizedMessage[]): Agent {
  return {
    handle(message, context) {
      heard.push(message)
      return agent.handle(message, context)
    },
  }
}
