import { randomBytes } from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type {
  Agent,
  AgentDirectory,
  Channel,
  Desk,
  House,
  Listening,
  Log,
  MessageRecord,
  NormalizedMessage,
  SubmitMail,
  World,
} from '@postern/core'
import { createSlidingWindowPolicy, defaultRetryPolicy, startWorker } from '@postern/core'
import { createGuardedFetch } from '@postern/http'
import type { ComposedMail, MailPlan, SimWorld } from '@postern/sim'
import { openSimWorld } from '@postern/sim'
import { openSqliteDesk } from '@postern/store'
import type { Hono } from 'hono'
import type { z } from 'zod'
import { emailConfigSchema, openEmail } from '../src/index.ts'
import { createMailSubmitter } from '../src/submit.ts'

export const domain = 'agents.test'
export const intakeSecret = 'a-secret-for-the-intake'

export interface IntakeAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: {
    readonly code?: string
    readonly detail?: string
    readonly status?: unknown
    readonly messages?: unknown
  }
}

export interface MailHouse {
  readonly sim: SimWorld
  readonly world: World & { advance(ms: number): void }
  readonly desk: Desk
  readonly channel: Channel<Hono>
  readonly listening: Listening | undefined
  /** What the agents were given. */
  readonly heard: readonly NormalizedMessage[]
  /** Octets to the intake with the envelope in the query. */
  post(
    octets: Uint8Array | string,
    envelope?: Readonly<Record<string, string | readonly string[]>>,
  ): Promise<IntakeAnswer>
  /** Composed mail of the simulated world to the intake. */
  postMail(plan: Partial<MailPlan>): Promise<{ readonly mail: ComposedMail; readonly answer: IntakeAnswer }>
  /** The newest stored message. */
  latest(): Promise<MessageRecord>
  close(): Promise<void>
}

export interface MailHouseOptions {
  readonly config?: z.input<typeof emailConfigSchema> | undefined
  readonly agents?: Readonly<Record<string, Agent>> | undefined
  /** Default false: nobody works, messages stay as they came. */
  readonly works?: boolean | undefined
  readonly bodies?: House['bodies']
  watchDesk?(desk: Desk): Desk
  /** Hosts that are fetched from a port of this machine. */
  readonly loopback?: Readonly<Record<string, number>> | undefined
  /** Instead of the sink of the simulated world. */
  readonly submitMail?: SubmitMail | undefined
}

/** What there is to know of a mail beside its words is nothing to say back. */
function sayPart(part: NormalizedMessage['parts'][number]): string[] {
  if (part.kind === 'text') return [part.content]
  return part.kind === 'file' ? ['[file]'] : []
}

export const echo: Agent = {
  handle: ({ parts }) => parts.flatMap(sayPart).join('\n'),
}

/** Tests send more than people do; those of the budgets set their own. */
export const noBudgets = {
  correspondent_per_hour: 1e6,
  thread_per_hour: 1e6,
  thread_per_day: 1e6,
  swift_per_hour: 1e6,
  repeats_per_hour: 1e6,
  unverified_per_day: 1e6,
  unverified_per_hour: 1e6,
  reply_all_per_hour: 1e6,
} as const

export async function openMailHouse(options: MailHouseOptions = {}): Promise<MailHouse> {
  const sim = await openSimWorld()
  let shift = 0
  const silent = () => undefined
  const log: Log = { debug: silent, info: silent, warn: silent, error: silent }
  const submit = createMailSubmitter(sim.mail.submit, log)
  const fetch = createGuardedFetch({ userAgent: 'test', ...(options.loopback && { loopback: options.loopback }) })
  const resolver = new Resolver({ timeout: 5_000, tries: 2 })
  resolver.setServers([...sim.network.dns])
  const world = {
    fetch,
    resolveDns: (name: string, type: string) => resolver.resolve(name, type),
    submitMail: options.submitMail ?? submit,
    now: () => Date.now() + shift,
    randomBytes: (count: number) => randomBytes(count),
    sleep: (ms: number, signal?: AbortSignal) => delay(ms, undefined, signal && { signal }).catch(() => undefined),
    log,
    advance: (ms: number) => {
      shift += ms
    },
  }
  const desk = await openSqliteDesk({ path: ':memory:', now: world.now, log })
  const heard: NormalizedMessage[] = []
  const agents = new Map(Object.entries(options.agents ?? { echo, helper: echo }))
  const house: House = {
    world,
    desk: options.watchDesk?.(desk) ?? desk,
    agents: createDirectory([...agents.keys()]),
    bodies: options.bodies,
  }
  const config = emailConfigSchema.parse({
    intake: { secret: intakeSecret },
    budgets: noBudgets,
    ...options.config,
  })
  const channel = openEmail(config, house)
  const listening = await channel.listen?.()
  sim.connectGateway({ origin: `https://${domain}`, port: 1, smtpPort: listening?.port, intakeSecret })
  const stop = options.works ? startTestWorker({ desk, world, channel, agents, heard }) : undefined

  const post: MailHouse['post'] = async (octets, envelope = { to: `echo@${domain}` }) => {
    const query = new URLSearchParams(
      Object.entries(envelope).flatMap(([name, value]) => [value].flat().map(each => [name, each])),
    )
    const request = new Request(`https://${domain}/email/inbound?${query}`, {
      method: 'POST',
      headers: { 'content-type': 'message/rfc822', authorization: `Bearer ${intakeSecret}` },
      body: typeof octets === 'string' ? Buffer.from(octets.replace(/\r?\n/g, '\r\n')) : Buffer.from(octets),
    })
    const response = await channel.routes.fetch(request, { incoming: { socket: { remoteAddress: '127.0.0.1' } } })
    return { status: response.status, headers: response.headers, body: (await response.json()) as IntakeAnswer['body'] }
  }

  return {
    sim,
    world,
    desk,
    channel,
    listening,
    heard,
    post,
    async postMail(plan) {
      const mail = await sim.mail.compose({ to: `echo@${domain}`, text: 'Hello there.', ...plan })
      const { envelope, ip, helo, octets } = mail
      return { mail, answer: await post(octets, { ...envelope, ip, helo }) }
    },
    async latest() {
      const [summary] = await desk.listMessages({ limit: 1 })
      const record = summary && (await desk.findMessage(summary.id))
      if (!record) throw new Error('nothing is stored')
      return record
    },
    async close() {
      await stop?.()
      await listening?.close()
      await channel.close?.()
      submit.close()
      fetch.close()
      await desk.close()
      await sim.close()
    },
  }
}

function createDirectory(names: readonly string[]): AgentDirectory {
  const profiles = names.map(name => ({
    name,
    displayName: `${name.slice(0, 1).toUpperCase()}${name.slice(1)} the Agent`,
    description: 'An agent',
    version: '1.0.0',
  }))
  return {
    domain,
    origin: `https://${domain}`,
    defaultAgent: names[0],
    find: name => profiles.find(profile => profile.name === name),
    list: () => profiles,
  }
}

interface Working {
  readonly desk: Desk
  readonly world: World
  readonly channel: Channel<Hono>
  readonly agents: ReadonlyMap<string, Agent>
  readonly heard: NormalizedMessage[]
}

function startTestWorker({ desk, world, channel, agents, heard }: Working): () => Promise<void> {
  const findChannel = () => channel
  const retry = { ...defaultRetryPolicy, baseMs: 20 }
  const working = {
    desk,
    world,
    retry,
    maxCrashes: 3,
    findAgent: (name: string) => {
      const agent = agents.get(name)
      return agent && { agent: eavesdrop(agent, heard), history: createSlidingWindowPolicy(), deadlineMs: 5_000 }
    },
    findChannel,
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
  const worker = startWorker(working, { desk, world, retry, findChannel }, world, slots)
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
