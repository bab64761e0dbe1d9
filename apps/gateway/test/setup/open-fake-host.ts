// Runs a foreign host whose pages a test can break.
import { generateKeyPairSync } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface FakeAnswer {
  readonly status?: number
  readonly type?: string
  readonly location?: string
  readonly body?: unknown
}

type Pages = Record<string, FakeAnswer>

/** Opens a host, any of whose pages may be broken. Their paths have no query; `https://host` leads to `port` of 127.0.0.1. */
export async function openFakeHost(pages: (host: string, request: IncomingMessage) => Pages) {
  const server = createServer((request, answer) => {
    const { pathname } = new URL(request.url ?? '/', 'https://x.invalid')
    const page = pages(String(request.headers.host).replace(/:\d+$/, ''), request)[pathname]
    const { status = page ? 200 : 404, type = 'application/json', location, body = {} } = page ?? {}
    answer.writeHead(status, { 'content-type': type, ...(location && { location }) })
    answer.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    close: () => new Promise<void>(resolve => server.close(() => resolve()).closeAllConnections()),
  }
}

const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const publicKeyPem = publicKey.export({ type: 'spki', format: 'pem' })
const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey
export const weakKeyPem = weak.export({ type: 'spki', format: 'pem' })

const cardRel = 'https://mentionable.dev/ns/rel/agent-card'

/** Describes an agent on foreign software that is correct, except for the changes of a test. */
export function describeFakeAgent(origin = 'https://peer.test') {
  const host = new URL(origin).hostname
  const actor = `${origin}/u/bot`
  const directory = {
    '@context': 'https://schema.org',
    '@type': 'Organization',
    contactPoint: [
      { '@type': 'ContactPoint', contactType: 'AI assistant', url: `${origin}/.well-known/agent-card/bot` },
    ],
  }
  return {
    jrd: {
      subject: `acct:bot@${host}`,
      aliases: [actor],
      links: [
        { rel: 'self', type: 'application/activity+json', href: actor },
        { rel: cardRel, type: 'application/json', href: `${origin}/.well-known/agent-card/bot` },
        { rel: 'http://webfinger.net/rel/profile-page', type: 'text/html', href: `${origin}/bot` },
        { rel: 'mailto', href: `mailto:bot@${host}` },
      ] as Record<string, string>[],
    },
    card: {
      address: `@bot@${host}`,
      name: 'Bot',
      version: '1.0.0',
      protocol_version: '0.1',
      a2a: {
        endpoint: `${origin}/a2a`,
        transport: 'https+jsonrpc',
        capabilities: { extensions: [{ uri: 'https://mentionable.dev/ns/policy/v0.1' }] as unknown[] },
        skills: [],
        input_modes: [],
        output_modes: [],
        auth: { scheme: 'none' } as Record<string, unknown>,
      } as Record<string, unknown>,
    } as Record<string, unknown>,
    actor: {
      id: actor,
      type: 'Service',
      preferredUsername: 'bot',
      inbox: `${actor}/inbox`,
      publicKey: { id: `${actor}#main-key`, owner: actor, publicKeyPem },
    } as Record<string, unknown>,
    directory: directory as Record<string, unknown>,
    page: `<title>Bot</title><script type="application/ld+json">${JSON.stringify(directory)}</script>`,
  }
}

export type FakeAgent = ReturnType<typeof describeFakeAgent>

export function toPages({ jrd, card, actor, directory, page }: FakeAgent): Pages {
  return {
    '/.well-known/webfinger': { type: 'application/jrd+json', body: jrd },
    '/.well-known/agent-card/bot': { body: card },
    '/.well-known/mentionable-agents.json': { body: directory },
    '/u/bot': { type: 'application/activity+json', body: actor },
    '/bot': { type: 'text/html', body: page },
  }
}
