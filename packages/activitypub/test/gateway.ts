// Opens the ActivityPub channel with a store and agents.
import { hash } from 'node:crypto'
import { createGuardedFetch } from '@postern/http'
import type { GuardedFetch, NormalizedMessage, Part } from '@postern/message'
import type {
  Agent,
  AgentDirectory,
  Blob,
  Channel,
  ChannelContext,
  RunningAgent,
  Store,
  StoredFiles,
  Worker,
} from '@postern/pipeline'
import { createSlidingWindowPolicy, startWorker } from '@postern/pipeline'
import { openSqliteStore } from '@postern/store'
import { sketchedChannels } from '@postern/testing'
import { Hono } from 'hono'
import type { z } from 'zod'
import { activityPubConfigSchema, openActivityPub } from '../src/index.ts'
import { testKey } from './keys.ts'
import type { TestSystem } from './system.ts'
import { createTestSystem } from './system.ts'

export interface ActivityPubGateway {
  readonly channel: Channel<Hono>
  /** The channel's routes and the WebFinger answers of the gateway around it. */
  readonly app: Hono
  readonly store: Store
  readonly system: TestSystem
  readonly agents: AgentDirectory
  /** The messages that the agents were called with. */
  readonly resolved: NormalizedMessage[]
  /** Runs the worker until the agents have answered and the answers have been sent. */
  work(): Worker
  close(): Promise<void>
}

export interface TestGatewayOptions {
  readonly agents?: Readonly<Record<string, Agent>>
  /** The people whom the text of the agents may mention. Default: as configured. */
  readonly mentions?: RunningAgent['mentions']
  readonly config?: z.input<typeof activityPubConfigSchema>
  /** The port of each host that the outgoing guard allows. */
  readonly loopback?: Readonly<Record<string, number>>
  /** The DNS answer for all other hosts. */
  readonly lookup?: (host: string) => Promise<readonly string[]>
  watchFetch?(fetch: GuardedFetch): GuardedFetch
  watchStore?(store: Store): Store
}

export const domain = 'agents.test'
export const origin = `https://${domain}`

export const echo: Agent = { handle: ({ parts }) => `heard: ${readText(parts)}` }

export function readText(parts: NormalizedMessage['parts']): string {
  return parts.map(part => (part.kind === 'text' ? part.content : part.kind)).join('|')
}

export async function openActivityPubGateway(options: TestGatewayOptions = {}): Promise<ActivityPubGateway> {
  const { loopback = {}, lookup } = options
  const fetch = createGuardedFetch({ userAgent: `Postern/0 (+${origin}/)`, loopback, ...(lookup && { lookup }) })
  const system = createTestSystem(options.watchFetch?.(fetch) ?? fetch)
  const opened = await openSqliteStore({
    channels: sketchedChannels,
    path: ':memory:',
    now: () => system.now(),
    log: system.log,
  })
  const store = options.watchStore?.(opened) ?? opened
  const handlers = new Map(Object.entries(options.agents ?? { echo, help: echo }))
  const agents = createDirectory([...handlers.keys()])
  await keepTestKeys(store, agents)
  const channels: Channel<Hono>[] = []
  const gateway: ChannelContext = {
    channels,
    system,
    store,
    admission: { rules: [], store },
    decisions: store,
    agents,
    fileAddress: digest => `${origin}/attachments/${digest}?token=t`,
  }
  const channel = openActivityPub(activityPubConfigSchema.parse(options.config ?? {}), gateway)
  channels.push(channel)
  const resolved: NormalizedMessage[] = []
  const workers: Worker[] = []

  function work(): Worker {
    const retry = { initialDelayMs: 20, maxDelayMs: 200, giveUpAfterMs: 60_000 }
    const turnContext = {
      store,
      system,
      retry,
      maxCrashes: 3,
      channels,
      findAgent: (name: string) => {
        const agent = handlers.get(name)
        if (!agent) return undefined
        const history = createSlidingWindowPolicy()
        return { agent: eavesdrop(agent, resolved), history, deadlineMs: 5_000, mentions: options.mentions }
      },
      storeFiles: storeTestFiles,
      presentParts: (parts: NormalizedMessage['parts']) => [...parts],
      readAttachment: async () => ({ bytes: new Uint8Array() }),
    }
    const queues = {
      holder: 'test',
      turnSlots: 8,
      turnsPerAgent: 8,
      deliverySlots: 8,
      deliveriesPerHost: 8,
      leaseMs: 30_000,
    }
    const worker = startWorker(turnContext as never, { system, retry, channels }, system, queues)
    workers.push(worker)
    return worker
  }

  return {
    channel,
    app: createApp(channel, agents),
    store,
    system,
    agents,
    resolved,
    work,
    async close() {
      await Promise.all(workers.map(worker => worker.stop(500)))
      await store.close()
      fetch.close()
    },
  }
}

/** Stores files like the gateway. */
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

/** Stores keys that exist already, because creating keys is slow. */
async function keepTestKeys(store: Store, agents: AgentDirectory): Promise<void> {
  const paths = ['/actor', ...agents.list().map(({ name }) => `/agents/${name}`)]
  await Promise.all(
    paths.map(path => store.readOrCreateSecret(`activitypub${path}#main-key`, async () => testKey('own').privatePem)),
  )
  // The keys of a rotation get known endings instead of random ones, so that the tests can name them.
  for (const path of paths)
    for (const number of ['2', '3', '4'])
      await store.readOrCreateSecret(`activitypub${path}#ending-${number}`, async () => number)
}

function createApp(channel: Channel<Hono>, agents: AgentDirectory): Hono {
  const app = new Hono()
  app.get('/.well-known/webfinger', context => {
    const name = /^acct:([^@]+)@/.exec(context.req.query('resource') ?? '')?.[1] ?? ''
    const links =
      name === domain ? channel.discovery?.gatewayLinks : agents.find(name) && channel.discovery?.links?.(name)
    if (!links) return context.notFound()
    const jrd = { subject: `acct:${name}@${domain}`, links }
    return context.body(JSON.stringify(jrd), 200, { 'content-type': 'application/jrd+json' })
  })
  return app.route('/', channel.endpoint.routes)
}

function eavesdrop(agent: Agent, resolved: NormalizedMessage[]): Agent {
  return {
    handle(message, context) {
      resolved.push(message)
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
