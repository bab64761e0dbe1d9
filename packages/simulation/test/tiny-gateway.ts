// Runs a small gateway that shares no code with the simulation.
import { createHash, createSign, createVerify, generateKeyPairSync } from 'node:crypto'
import type { Simulation } from '../src/index.ts'
import type { LoopbackServer, SimAnswer, SimRequest } from '../src/net/loopback-server.ts'
import { answerJson, openLoopbackServer } from '../src/net/loopback-server.ts'

/** A gateway of a few lines that shares no signing code with the world it talks to: node:crypto by hand. */
export interface TinyGateway extends LoopbackServer {
  readonly actorId: string
  readonly keyId: string
  readonly privatePem: string
  /** All requests that were posted to the gateway. */
  readonly posted: readonly SimRequest[]
  /** Signs and posts an activity; `change` may spoil the headers. */
  post(url: string, activity: unknown, options?: TinyPostOptions): Promise<number>
}

export interface TinyPostOptions {
  readonly date?: Date
  readonly keyId?: string
  readonly algorithm?: string
  readonly privatePem?: string
  readonly signedFields?: readonly string[]
  change?(headers: Record<string, string>): Record<string, string>
}

interface TinyGatewayOptions {
  /** Answers a POST; default 202. */
  onPost?(request: SimRequest, gateway: TinyGateway): Promise<SimAnswer> | SimAnswer
}

const origin = 'https://agents.test'

export async function openTinyGateway(
  simulation: Simulation,
  { onPost }: TinyGatewayOptions = {},
): Promise<TinyGateway> {
  const { privatePem, publicPem } = makeKey()
  const postedRequests: SimRequest[] = []
  const actorId = `${origin}/agents/echo`
  const keyId = `${actorId}#main-key`
  const documents: Record<string, unknown> = {
    '/.well-known/webfinger': {
      subject: 'acct:echo@agents.test',
      links: [{ rel: 'self', type: 'application/activity+json', href: actorId }],
    },
    // The calls go to the simulation's own peer, because only the caller's reading of the card matters here.
    '/agents/echo/.well-known/agent-card.json': await readPeerCard(simulation),
    '/agents/echo': {
      id: actorId,
      type: 'Service',
      preferredUsername: 'echo',
      inbox: `${actorId}/inbox`,
      endpoints: { sharedInbox: `${origin}/inbox` },
      publicKey: { id: keyId, owner: actorId, publicKeyPem: publicPem },
    },
  }
  const server = await openLoopbackServer(async request => {
    if (request.method === 'GET') {
      const document = documents[request.path]
      return document ? answerJson(document) : { status: 404 }
    }
    postedRequests.push(request)
    return onPost ? onPost(request, gateway) : { status: 202 }
  })
  const gateway: TinyGateway = {
    ...server,
    actorId,
    keyId,
    privatePem,
    posted: postedRequests,
    async post(url, activity, options = {}) {
      const body = JSON.stringify(activity)
      const headers = signByHand(url, body, { keyId, privatePem, ...options })
      const { status } = await simulation.loopback.request(url, { method: 'POST', headers, body })
      return status
    },
  }
  simulation.connectGateway({ origin, port: server.port })
  return gateway
}

async function readPeerCard(simulation: Simulation): Promise<unknown> {
  const { body } = await simulation.loopback.request(simulation.a2a.peer.cardUrl)
  return JSON.parse(body.toString())
}

export function makeKey(): { readonly privatePem: string; readonly publicPem: string } {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  return { privatePem: privateKey, publicPem: publicKey }
}

export function digestOf(body: string | Uint8Array): string {
  return `SHA-256=${createHash('sha256').update(body).digest('base64')}`
}

function signByHand(
  url: string,
  body: string,
  options: TinyPostOptions & { keyId: string; privatePem: string },
): Record<string, string> {
  const { host, pathname } = new URL(url)
  const fields = options.signedFields ?? ['(request-target)', 'host', 'date', 'digest', 'content-type']
  const headers: Record<string, string> = {
    date: (options.date ?? new Date()).toUTCString(),
    digest: digestOf(body),
    'content-type': 'application/activity+json',
  }
  const values: Record<string, string> = { ...headers, host, '(request-target)': `post ${pathname}` }
  const text = fields.map(field => `${field}: ${values[field]}`).join('\n')
  const signature = createSign('RSA-SHA256').update(text).sign(options.privatePem, 'base64')
  const { keyId, algorithm = 'rsa-sha256' } = options
  headers.signature = `keyId="${keyId}",algorithm="${algorithm}",headers="${fields.join(' ')}",signature="${signature}"`
  return options.change?.(headers) ?? headers
}

interface ReadSignature {
  readonly keyId: string
  readonly algorithm: string
  readonly fields: readonly string[]
  holds(publicPem: string): boolean
}

/** Reads `Signature` and rebuilds the signing string of draft-cavage §2.3 by hand. */
export function readSignature({ method, target, headers }: SimRequest): ReadSignature {
  const parameters = Object.fromEntries(
    [...String(headers.signature).matchAll(/([a-zA-Z]+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  ) as Record<string, string>
  const fields = parameters.headers?.split(' ') ?? []
  const lines = fields.map(field =>
    field === '(request-target)' ? `${field}: ${method.toLowerCase()} ${target}` : `${field}: ${headers[field]}`,
  )
  return {
    keyId: parameters.keyId ?? '',
    algorithm: parameters.algorithm ?? '',
    fields,
    holds: publicPem =>
      createVerify('RSA-SHA256')
        .update(lines.join('\n'))
        .verify(publicPem, parameters.signature ?? '', 'base64'),
  }
}
