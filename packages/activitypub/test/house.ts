import { hash } from 'node:crypto'
import type {
  Agent,
  AgentDirectory,
  Blob,
  Channel,
  Desk,
  GuardedFetch,
  House,
  NormalizedMessage,
  Part,
  StoredFiles,
  Worker,
} from '@postern/core'
import { createSlidingWindowPolicy, startWorker } from '@postern/core'
import { createGuardedFetch } from '@postern/http'
import { openSqliteDesk } from '@postern/store'
import { Hono } from 'hono'
import type { z } from 'zod'
import { activityPubConfigSchema, openActivityPub } from '../src/index.ts'
import { testKey } from './keys.ts'
import type { TestWorld } from './world.ts'
import { createTestWorld } from './world.ts'

export interface TestHouse {
  readonly channel: Channel<Hono>
  /** The channel's routes and the WebFinger answers of the gateway around it. */
  readonly app: Hono
  readonly desk: Desk
  readonly world: TestWorld
  readonly agents: AgentDirectory
  /** What the agents were called with. */
  readonly heard: NormalizedMessage[]
  /** Lets the agents answer and the answers leave. */
  work(): Worker
  close(): Promise<void>
}

export interface TestHouseOptions {
  readonly agents?: Readonly<Record<string, Agent>>
  readonly config?: z.input<typeof activityPubConfigSchema>
  /** Port of each host the outgoing guard lets through. */
  readonly loopback?: Readonly<Record<string, number>>
  /** What DNS says of all other hosts. */
  readonly lookup?: (host: string) => Promise<readonly string[]>
  watchFetch?(fetch: GuardedFetch): GuardedFetch
  watchDesk?(desk: Desk): Desk
}

export const domain = 'agents.test'
export const origin = `https://${domain}`

export const echo: Agent = { handle: ({ parts }) => `heard: ${readText(parts)}` }

export function readText(parts: NormalizedMessage['parts']): string {
  return parts.map(part => (part.kind === 'text' ? part.content : part.kind)).join('|')
}

export async function openTestHouse(options: TestHouseOptions = {}): Promise<TestHouse> {
  const { loopback = {}, lookup } = options
  const fetch = createGuardedFetch({ userAgent: `Postern/0 (+${origin}/)`, loopback, ...(lookup && { lookup }) })
  const world = createTestWorld(options.watchFetch?.(fetch) ?? fetch)
  const opened = await openSqliteDesk({ path: ':memory:', now: () => world.now(), log: world.log })
  const desk = options.watchDesk?.(opened) ?? opened
  const handlers = new Map(Object.entries(options.agents ?? { echo, help: echo }))
  const agents = createDirectory([...handlers.keys()])
  await keepTestKeys(desk, agents)
  const house: House = { world, desk, agents, fileAddress: digest => `${origin}/attachments/${digest}?token=t` }
  const channel = openActivityPub(activityPubConfigSchema.parse(options.config ?? {}), house)
  const heard: NormalizedMessage[] = []
  const workers: Worker[] = []

  function work(): Worker {
    const findChannel = () => channel
    const retry = { baseMs: 20, capMs: 200, giveUpAfterMs: 60_000 }
    const working = {
      desk,
      world,
      retry,
      maxCrashes: 3,
      findChannel,
      findAgent: (name: string) => {
        const agent = handlers.get(name)
        return agent && { agent: eavesdrop(agent, heard), history: createSlidingWindowPolicy(), deadlineMs: 5_000 }
      },
      storeFiles: storeTestFiles,
      presentParts: (parts: NormalizedMessage['parts']) => [...parts],
      readAttachment: async () => ({ bytes: new Uint8Array() }),
    }
    const lanes = {
      holder: 'test',
      turnSlots: 8,
      turnsPerAgent: 8,
      deliverySlots: 8,
      deliveriesPerHost: 8,
      leaseMs: 30_000,
    }
    const worker = startWorker(working as never, { desk, world, retry, findChannel }, world, lanes)
    workers.push(worker)
    return worker
  }

  return {
    channel,
    app: createApp(channel, agents),
    desk,
    world,
    agents,
    heard,
    work,
    async close() {
      await Promise.all(workers.map(worker => worker.stop(500)))
      await desk.close()
      fetch.close()
    },
  }
}

/** As the gateway's shelf does. */
function storeTestFiles(parts: readonly Part[]): StoredFiles {
  const blobs: Blob[] = []
  const stored = parts.map((part): Part => {
    if (part.kind !== 'file' || part.bytes_ref.kind !== 'inline') return part
    const bytes = Buffer.from(part.bytes_ref.data_base64, 'base64')
    const digest = hash('sha256', bytes)
    blobs.push({ digest, bytes, mime: part.mime })
    return { ...part, bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest } }
  })
  return { parts: stored, blobs }
}

/** Keys that are there already cost nothing to make. */
async function keepTestKeys(desk: Desk, agents: AgentDirectory): Promise<void> {
  const paths = ['/actor', ...agents.list().map(({ name }) => `/agents/${name}`)]
  await Promise.all(
    paths.map(path => desk.secret(`activitypub${path}#main-key`, async () => testKey('own').privatePem)),
  )
}

function createApp(channel: Channel<Hono>, agents: AgentDirectory): Hono {
  const app = new Hono()
  app.get('/.well-known/webfinger', context => {
    const name = /^acct:([^@]+)@/.exec(context.req.query('resource') ?? '')?.[1] ?? ''
    const links = name === domain ? channel.gatewayLinks : agents.find(name) && channel.links(name)
    if (!links) return context.notFound()
    const jrd = { subject: `acct:${name}@${domain}`, links }
    return context.body(JSON.stringify(jrd), 200, { 'content-type': 'application/jrd+json' })
  })
  return app.route('/', channel.routes)
}

function eavesdrop(agent: Agent, heard: NormalizedMessage[]): Agent {
  return {
    handle(message, context) {
      heard.push(message)
      return agent.handle(message, context)
    },
  }
}

function createDirectory(names: readonly string[]): AgentDirectory {
  const list = names.map(name => ({
    name,
    displayName: `The ${name}`,
    description: `It is ${name}.`,
    version: '1.2.3',
  }))
  return {
    domain,
    origin,
    defaultAgent: names[0],
    find: name => list.find(profile => profile.name === name),
    list: () => list,
  }
}
