import type {
  Agent,
  AgentDirectory,
  AgentProfile,
  Channel,
  ChannelContext,
  IdentityVerifier,
  NormalizedMessage,
  Refusal,
  Store,
} from '@postern/core'
import { createSlidingWindowPolicy, defaultRetryPolicy, startWorker } from '@postern/core'
import { createGuardedFetch } from '@postern/http'
import { openSqliteStore } from '@postern/store'
import { sketchedChannels } from '@postern/testing'
import type { Hono } from 'hono'
import type { z } from 'zod'
import { a2aConfigSchema, openA2a } from '../../src/index.ts'
import { inspectAnswer } from './answers.ts'
import type { TestIssuer } from './issuer.ts'
import { openIssuer } from './issuer.ts'
import type { A2aTestPlatform } from './platform.ts'
import { createA2aPlatform } from './platform.ts'

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
  /** Default `/a2a`. */
  readonly path?: string | undefined
  /** Default: alice's. `null`: none. */
  readonly token?: string | null | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export interface A2aTestGateway {
  readonly channel: Channel<Hono>
  readonly gateway: ChannelContext
  readonly store: Store
  readonly platform: A2aTestPlatform
  readonly issuer: TestIssuer
  readonly token: string
  /** What the agents were called with. */
  readonly heard: NormalizedMessage[]
  /** What the store was told of refused traffic. */
  readonly refused: Refusal[]
  /** Any request; every answer is searched for what must not leak. */
  request(path: string, init?: RequestInit): Promise<A2aAnswer>
  post(body: string | Uint8Array, options?: A2aPostOptions): Promise<A2aAnswer>
  rpc(method: string, params?: unknown, options?: A2aPostOptions): Promise<A2aAnswer>
  /** SendMessage with one text part; `message` overrides. */
  say(
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
  /** Added to the configuration of the issuer. */
  readonly issuer?: object | undefined
  /** False: nobody works, so that tasks stay as they were submitted. */
  readonly works?: boolean | undefined
  readonly path?: string | undefined
  readonly loopback?: Readonly<Record<string, number>> | undefined
  /** Where names lead. */
  readonly lookup?: ((host: string) => Promise<readonly string[]>) | undefined
  /** All waiting is so many times shorter. */
  readonly pace?: number | undefined
  /** What reads forwarded evidence. */
  readonly identity?: IdentityVerifier | undefined
  /** What the protocol is given in place of the store. */
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
  const platform = createA2aPlatform(fetch)
  clock.now = () => platform.now()
  platform.hurry(options.pace ?? 1)
  const store = await openSqliteStore({
    channels: sketchedChannels,
    path: options.path ?? ':memory:',
    now: () => platform.now(),
    log: platform.log,
  })
  const heard: NormalizedMessage[] = []
  const refused: Refusal[] = []
  const { refuse } = store
  store.refuse = refusal => {
    refused.push(refusal)
    refuse(refusal)
  }
  const agents = new Map(Object.entries(options.agents ?? { echo: echoAgent }))
  const channels: Channel<Hono>[] = []
  const watched = options.watchStore?.(store) ?? store
  const gateway = {
    channels,
    platform,
    store: watched,
    admission: { rules: [], store: watched },
    decisions: watched,
    agents: createDirectory([...agents.keys()], options.profiles ?? {}),
    identity: options.identity,
  }
  const { issuer: iss, jwks, audience } = issuer
  const auth = { issuers: [{ issuer: iss, jwks, audience, ...options.issuer }], ...options.config?.auth }
  const channel = openA2a(a2aConfigSchema.parse({ ...options.config, auth }), gateway)
  channels.push(channel)
  const findAgent = (name: string) => {
    const agent = agents.get(name)
    return agent && { agent: eavesdrop(agent, heard), history: createSlidingWindowPolicy(), deadlineMs: 5_000 }
  }
  const retry = defaultRetryPolicy
  const turnContext = {
    store,
    platform,
    retry,
    maxCrashes: 3,
    findAgent,
    channels,
    presentParts: (parts: readonly NormalizedMessage['parts'][number][]) => [...parts],
    readAttachment: async () => ({ bytes: new Uint8Array() }),
  }
  const worker =
    options.works === false
      ? undefined
      : startWorker(turnContext, { platform, retry, channels }, platform, {
          holder: 'test',
          turnSlots: 8,
          turnsPerAgent: 8,
          deliverySlots: 2,
          deliveriesPerHost: 2,
          leaseMs: 30_000,
        })
  const token = await issuer.sign()

  async function request(path: string, init?: RequestInit): Promise<A2aAnswer> {
    const response = await channel.routes.request(path, init)
    const text = await response.text()
    inspectAnswer(response.status, response.headers, text)
    return { status: response.status, headers: response.headers, text, body: text ? JSON.parse(text) : {} }
  }

  async function post(body: string | Uint8Array, { path = '/a2a', token: given, headers }: A2aPostOptions = {}) {
    const bearer = given === null ? undefined : `Bearer ${given ?? token}`
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
    platform,
    issuer,
    token,
    heard,
    refused,
    request,
    post,
    rpc,
    say(text, message = {}, { configuration, ...postOptions } = {}) {
      unique += 1
      const said = { messageId: `m-${unique}`, role: 'ROLE_USER', parts: [{ text }], ...message }
      return rpc('SendMessage', { message: said, ...(configuration && { configuration }) }, postOptions)
    },
    async close() {
      channel.release?.()
      await worker?.stop(100)
      await store.close()
      await issuer.close()
      fetch.close()
    },
  }
}

function eavesdrop(agent: Agent, heard: NormalizedMessage[]): Agent {
  return {
    handle(message, context) {
      heard.push(message)
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
