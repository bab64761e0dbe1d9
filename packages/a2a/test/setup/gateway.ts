// Opens the A2A channel with a store and agents, and sends requests to it.
import { createGuardedFetch } from '@postern/http'
import type { BodyBudget, NormalizedMessage } from '@postern/message'
import type {
  Agent,
  AgentDirectory,
  AgentProfile,
  Channel,
  ChannelContext,
  IdentityVerifier,
  Refusal,
  Store,
} from '@postern/pipeline'
import { createSlidingWindowPolicy, defaultRetryPolicy, startWorker } from '@postern/pipeline'
import { openSqliteStore } from '@postern/store'
import { sketchedChannels } from '@postern/testing'
import type { Hono } from 'hono'
import type { z } from 'zod'
import { a2aConfigSchema, openA2a } from '../../src/index.ts'
import { inspectAnswer } from './answers.ts'
import type { TestIssuer } from './issuer.ts'
import { openIssuer } from './issuer.ts'
import type { A2aTestSystem } from './system.ts'
import { createA2aSystem } from './system.ts'

export interface A2aAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: RpcBody
}

// biome-ignore lint/suspicious/noExplicitAny: tests read what came over the wire
type Wire = any

interface RpcBody {
  readonly id?: unknown
  readonly result?: Wire
  readonly error?: { readonly code: number; readonly message: string; readonly data: readonly Wire[] }
}

export interface A2aPostOptions {
  /** The path of the endpoint. Default: `/a2a`. */
  readonly path?: string | undefined
  /** The token of the caller. Default: Alice's. `null` sends none. */
  readonly token?: string | null | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export interface A2aTestGateway {
  readonly channel: Channel<Hono>
  readonly gateway: ChannelContext
  readonly store: Store
  readonly system: A2aTestSystem
  readonly issuer: TestIssuer
  readonly token: string
  /** The messages that the agents were called with. */
  readonly receivedMessages: NormalizedMessage[]
  /** The refusals that the store has recorded. */
  readonly refusals: Refusal[]
  /** Sends any request. Every answer is searched for secrets that must not leak. */
  request(path: string, init?: RequestInit): Promise<A2aAnswer>
  post(body: string | Uint8Array, options?: A2aPostOptions): Promise<A2aAnswer>
  rpc(method: string, params?: unknown, options?: A2aPostOptions): Promise<A2aAnswer>
  /** Sends a SendMessage with one text part. `message` overrides its members. */
  sendText(
    text: string,
    message?: object,
    options?: A2aPostOptions & { readonly configuration?: object },
  ): Promise<A2aAnswer>
  close(): Promise<void>
}

export interface A2aTestGatewayOptions {
  readonly agents?: Readonly<Record<string, Agent>> | undefined
  readonly profiles?: Readonly<Record<string, Partial<AgentProfile>>> | undefined
  readonly config?: z.input<typeof a2aConfigSchema> | undefined
  /** The additions to the configuration of the issuer. */
  readonly issuer?: object | undefined
  /** False to start no workers, so that tasks stay submitted. */
  readonly runsWorker?: boolean | undefined
  readonly path?: string | undefined
  readonly loopback?: Readonly<Record<string, number>> | undefined
  /** Resolves the names of hosts. */
  readonly lookup?: ((host: string) => Promise<readonly string[]>) | undefined
  /** The factor by which all waiting is shorter. */
  readonly pace?: number | undefined
  /** The limit of the bodies in memory. */
  readonly bodies?: BodyBudget | undefined
  /** The verifier of forwarded evidence. */
  readonly identity?: IdentityVerifier | undefined
  /** Returns the store that the channel uses in place of the real one. */
  watchStore?(store: Store): Store
}

export const echoAgent: Agent = {
  handle: ({ parts }) => ({ parts: [{ kind: 'text', mime: 'text/plain', content: `heard: ${joinTextParts(parts)}` }] }),
}

export function joinTextParts(parts: NormalizedMessage['parts']): string {
  return parts.map(part => (part.kind === 'text' ? part.content : part.kind)).join('|')
}

let unique = 0

export async function openA2aGateway(options: A2aTestGatewayOptions = {}): Promise<A2aTestGateway> {
  const clock = { now: () => Date.now() }
  const issuer = await openIssuer(() => clock.now())
  const fetch = createGuardedFetch({
    userAgent: 'test',
    ...(options.lookup && { lookup: options.lookup }),
    loopback: { [issuer.host]: issuer.port, ...options.loopback },
  })
  const system = createA2aSystem(fetch)
  clock.now = () => system.now()
  system.speedUpClock(options.pace ?? 1)
  const store = await openSqliteStore({
    channels: sketchedChannels,
    path: options.path ?? ':memory:',
    now: () => system.now(),
    log: system.log,
  })
  const receivedMessages: NormalizedMessage[] = []
  const refusals: Refusal[] = []
  const { refuse } = store
  store.refuse = refusal => {
    refusals.push(refusal)
    return refuse(refusal)
  }
  const agents = new Map(Object.entries(options.agents ?? { echo: echoAgent }))
  const channels: Channel<Hono>[] = []
  const watchedStore = options.watchStore?.(store) ?? store
  const gateway = {
    channels,
    system,
    store: watchedStore,
    admission: { rules: [], store: watchedStore },
    decisions: watchedStore,
    agents: createDirectory([...agents.keys()], options.profiles ?? {}),
    identity: options.identity,
    bodies: options.bodies,
  }
  const { issuer: iss, jwks, audience } = issuer
  const auth = { issuers: [{ issuer: iss, jwks, audience, ...options.issuer }], ...options.config?.auth }
  const channel = openA2a(a2aConfigSchema.parse({ ...options.config, auth }), gateway)
  channels.push(channel)
  const findAgent = (name: string) => {
    const agent = agents.get(name)
    return (
      agent && {
        agent: recordMessages(agent, receivedMessages),
        history: createSlidingWindowPolicy(),
        deadlineMs: 5_000,
      }
    )
  }
  const retry = defaultRetryPolicy
  const turnContext = {
    store,
    system,
    retry,
    maxCrashes: 3,
    findAgent,
    channels,
    presentParts: (parts: readonly NormalizedMessage['parts'][number][]) => [...parts],
    readAttachment: async () => ({ bytes: new Uint8Array() }),
  }
  const worker =
    options.runsWorker === false
      ? undefined
      : startWorker(turnContext, { system, retry, channels }, system, {
          holder: 'test',
          turnSlots: 8,
          turnsPerAgent: 8,
          deliverySlots: 2,
          deliveriesPerHost: 2,
          leaseMs: 30_000,
        })
  const token = await issuer.sign()

  async function request(path: string, init?: RequestInit): Promise<A2aAnswer> {
    const response = await channel.endpoint.routes.request(path, init)
    const text = await response.text()
    inspectAnswer(response.status, response.headers, text)
    return { status: response.status, headers: response.headers, text, body: text ? JSON.parse(text) : {} }
  }

  async function post(body: string | Uint8Array, { path = '/a2a', token: requestToken, headers }: A2aPostOptions = {}) {
    const bearer = requestToken === null ? undefined : `Bearer ${requestToken ?? token}`
    return request(path, {
      method: 'POST',
      body: typeof body === 'string' ? body : new Uint8Array(body),
      headers: {
        'content-type': 'application/json',
        'a2a-version': '1.0',
        ...(bearer && { authorization: bearer }),
        ...headers,
      },
    })
  }

  const rpc: A2aTestGateway['rpc'] = (method, params, postOptions) =>
    post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), postOptions)

  return {
    channel,
    gateway,
    store,
    system,
    issuer,
    token,
    receivedMessages,
    refusals,
    request,
    post,
    rpc,
    sendText(text, message = {}, { configuration, ...postOptions } = {}) {
      unique += 1
      const messageBody = { messageId: `m-${unique}`, role: 'ROLE_USER', parts: [{ text }], ...message }
      return rpc('SendMessage', { message: messageBody, ...(configuration && { configuration }) }, postOptions)
    },
    async close() {
      channel.endpoint.release?.()
      await worker?.stop(100)
      await store.close()
      await issuer.close()
      fetch.close()
    },
  }
}

function recordMessages(agent: Agent, receivedMessages: NormalizedMessage[]): Agent {
  return {
    handle(message, context) {
      receivedMessages.push(message)
      return agent.handle(message, context)
    },
  }
}

function createDirectory(names: readonly string[], profiles: A2aTestGatewayOptions['profiles']): AgentDirectory {
  const list = names.map(name => ({
    name,
    displayName: name,
    description: `The agent ${name}`,
    version: '1.2.3',
    ...profiles?.[name],
  }))
  return {
    domain: 'agents.test',
    origin: 'https://agents.test',
    defaultAgent: names[0],
    find: name => list.find(profile => profile.name === name),
    list: () => list,
  }
}
