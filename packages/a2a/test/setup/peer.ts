// Runs a foreign A2A agent, and opens a client that calls it.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGuardedFetch } from '@postern/http'
import { canonicalizeJson } from '@postern/message'
import type { CallAgent } from '@postern/pipeline'
import { openSqliteStore } from '@postern/store'
import { sketchedChannels } from '@postern/testing'
import { FlattenedSign } from 'jose'
import type { z } from 'zod'
import { a2aConfigSchema, createAgentCaller } from '../../src/index.ts'
import type { TestIssuerKey } from './issuer.ts'
import { makeIssuerKey } from './issuer.ts'
import type { A2aTestSystem } from './system.ts'
import { createA2aSystem } from './system.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests read what came over the wire
type Wire = any

interface AgentPeerRequest {
  readonly host: string
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Wire
}

interface AgentPeerAnswer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: unknown
  /** The body, which is written unchanged. If it and `json` are undefined, the body is empty. */
  readonly text?: string
  /** Writes the rest of the response. */
  write?(response: ServerResponse): void
}

type Respond = (request: AgentPeerRequest) => AgentPeerAnswer | undefined

interface A2aClient {
  readonly call: CallAgent
}

/** An agent elsewhere that answers as configured, and a client of ours that calls it. */
export interface TestPeer {
  readonly system: A2aTestSystem
  readonly client: A2aClient
  /** The requests so far. Their `path` has no query. */
  readonly requests: AgentPeerRequest[]
  /** The answers by path. Absent paths get 404. They may be changed. */
  readonly pages: Map<string, Respond>
  /** The files in our store, by digest. */
  readonly blobs: Map<string, Uint8Array>
  /** The card at `https://peer.test/card` as it is served. `sign` signs it. */
  card: Wire
  key: TestIssuerKey
  keys: object[]
  /** Signs `card` in its present form. */
  sign(header?: Readonly<Record<string, unknown>>, key?: TestIssuerKey): Promise<void>
  /** Sets how JSON-RPC requests are answered: by a `result` or by a whole answer. */
  answerRpc(respond: (request: AgentPeerRequest) => AgentPeerAnswer | object): void
  call(text?: string, options?: Partial<Parameters<CallAgent>[2]>): ReturnType<CallAgent>
  /** Creates another client with the same store and another configuration. */
  clientWith(config: z.input<typeof a2aConfigSchema>): A2aClient
  close(): Promise<void>
}

export const cardUrl = 'https://peer.test/card'
export const endpoint = 'https://peer.test/rpc'

export const agentMessage = (...parts: object[]) => ({ message: { messageId: 'a', role: 'ROLE_AGENT', parts } })
export const taskWith = (state: string, overrides: object = {}) => ({
  task: { id: 't-1', contextId: 'c-1', status: { state }, ...overrides },
})

export async function openAgentPeer(config: z.input<typeof a2aConfigSchema> = {}): Promise<TestPeer> {
  const requests: AgentPeerRequest[] = []
  const pages = new Map<string, Respond>()
  const server = createServer((request, response) => {
    void readRequest(request).then(read => {
      requests.push(read)
      sendAnswer(response, pages.get(read.path)?.(read) ?? { status: 404 })
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const fetch = createGuardedFetch({ userAgent: 'test', loopback: { 'peer.test': port, 'elsewhere.test': port } })
  const system: A2aTestSystem = Object.assign(createA2aSystem(fetch), { openStream: fetch.openStream })
  const store = await openSqliteStore({
    channels: sketchedChannels,
    path: ':memory:',
    now: () => system.now(),
    log: system.log,
  })
  const blobs = new Map<string, Uint8Array>()
  const findBlob: typeof store.findBlob = async digest => {
    const bytes = blobs.get(digest)
    return bytes && { digest, bytes, mime: 'application/octet-stream' }
  }
  const deps = { system, store: { ...store, findBlob }, origin: 'https://agents.test' }
  const clientWith: TestPeer['clientWith'] = otherConfig => ({
    call: createAgentCaller({ ...deps, config: a2aConfigSchema.parse({ ...config, ...otherConfig }) }),
  })
  const key = await makeIssuerKey('peer-key')
  const peer: TestPeer = {
    system,
    client: clientWith({}),
    requests,
    pages,
    blobs,
    card: describeCard(),
    key,
    keys: [key.publicJwk],
    async sign(header = {}, signer = peer.key) {
      const { signatures: _, ...card } = peer.card
      const jws = await new FlattenedSign(new TextEncoder().encode(canonicalizeJson(card)))
        .setProtectedHeader({ alg: 'ES256', kid: signer.kid, typ: 'JOSE', ...header })
        .sign(signer.privateKey)
      peer.card = { ...card, signatures: [{ protected: jws.protected, signature: jws.signature }] }
    },
    answerRpc(respond) {
      pages.set('/rpc', request => {
        const answer = respond(request) as AgentPeerAnswer & Readonly<Record<string, unknown>>
        const isWhole =
          typeof answer.status === 'number' || ['text', 'json', 'write'].some(name => Object.hasOwn(answer, name))
        return isWhole ? answer : { json: { jsonrpc: '2.0', id: request.body.id, result: answer } }
      })
    },
    call: (text = 'hello', options = {}) =>
      peer.client.call(cardUrl, [{ kind: 'text', mime: 'text/plain', content: text }], {
        callerName: 'desk',
        ...options,
      }),
    clientWith,
    async close() {
      fetch.close()
      await store.close()
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
  pages.set('/card', () => ({ json: peer.card }))
  pages.set('/.well-known/jwks.json', () => ({ json: { keys: peer.keys } }))
  peer.answerRpc(() => agentMessage({ text: 'hi' }))
  return peer
}

function describeCard() {
  return {
    name: 'Peer',
    description: 'Somebody else’s agent',
    version: '1',
    supportedInterfaces: [{ url: endpoint, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: {},
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    securityRequirements: [{ schemes: { bearer: {} } }],
  }
}

async function readRequest(request: IncomingMessage): Promise<AgentPeerRequest> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  const { headers, method = '', url = '' } = request
  const text = Buffer.concat(pieces).toString()
  const [path = ''] = url.split('?')
  const isJson = headers['content-type']?.includes('json')
  return {
    host: headers.host ?? '',
    method,
    path,
    headers,
    body: text && isJson ? JSON.parse(text) : text || undefined,
  }
}

function sendAnswer(
  response: ServerResponse,
  { status = 200, headers = {}, json, text, write }: AgentPeerAnswer,
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  if (write) write(response)
  else response.end(text ?? (json === undefined ? '' : JSON.stringify(json)))
}
