import { hash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { waitUntil } from '../peers/eventually.ts'
import type { TestGateway } from '../setup/gateway.ts'
import { openTestGateway } from '../setup/gateway.ts'

// These tests let peers name the addresses of a service that the operator allowed for the gateway itself.

const apiKey = 'the-key-of-the-tests'
const queries: string[] = []
let service: Server
let origin = ''
let connections = 0
let gateway: TestGateway | undefined

beforeAll(async () => {
  service = createServer((request, response) => {
    queries.push(`${request.method} ${request.url}`)
    response.writeHead(request.method === 'POST' ? 200 : 404).end()
  }).listen(0, '127.0.0.1')
  service.on('connection', () => {
    connections += 1
  })
  await once(service, 'listening')
  origin = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
})
afterAll(() => service.close())
afterEach(async () => {
  await gateway?.close()
  gateway = undefined
  queries.length = 0
  connections = 0
})

async function open(network: (ownUrl: string) => Readonly<Record<string, unknown>>): Promise<TestGateway> {
  gateway = await openTestGateway(({ network: { dns, loopback } }) => ({
    network: { dns, loopback, ...network(origin) },
    a2a: { auth: { api_keys: [{ name: 'tester', sha256: hash('sha256', apiKey) }] } },
    agents: {
      echo: { use: 'builtin:echo' },
      reader: { use: '../agents/chat/viewer.ts' },
      front: { use: 'a2a', card: `${origin}/card` },
    },
  }))
  return gateway
}

async function sendMessage({ url }: TestGateway, agent: string, configuration: object, parts: readonly object[] = []) {
  const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hello' }, ...parts] }
  const rpcRequest = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message, configuration } }
  const headers = { 'content-type': 'application/json', 'x-api-key': apiKey, 'a2a-version': '1.0' }
  const response = await fetch(`${url()}/agents/${agent}/a2a`, {
    method: 'POST',
    headers,
    body: JSON.stringify(rpcRequest),
  })
  return (await response.json()) as { readonly result?: unknown; readonly error?: { readonly message: string } }
}

const push = () => ({ taskPushNotificationConfig: { url: `${origin}/admin/users/1/delete` } })

test('a caller cannot name a push receiver at an address that allow_private opened for the operator', async () => {
  const answer = await sendMessage(await open(ownUrl => ({ allow_private: [ownUrl] })), 'echo', push())
  expect(answer.error?.message).toContain('is not an address notifications are sent to')
  expect(queries).toEqual([])
})

test('a caller may name a push receiver at an address of allow_private_push', async () => {
  const answer = await sendMessage(await open(ownUrl => ({ allow_private_push: [ownUrl] })), 'echo', push())
  expect(answer.error).toBeUndefined()
  await waitUntil('the push has come', () => queries.includes('POST /admin/users/1/delete'))
})

test('an agent cannot read a peer’s file at an address that allow_private opened', async () => {
  const secure = origin.replace('http:', 'https:')
  const openedGateway = await open(() => ({ allow_private: [secure], allow_private_push: [secure] }))
  const file = { url: `${secure}/file.png`, mediaType: 'image/png', filename: 'file.png' }
  const answer = await sendMessage(openedGateway, 'reader', {}, [file])
  expect(JSON.stringify(answer)).toContain('Cannot fetch: port is not 443')
  expect(connections).toBe(0)
})

test('the gateway reaches a configured agent at an address that allow_private opened', async () => {
  await sendMessage(await open(ownUrl => ({ allow_private: [ownUrl] })), 'front', {})
  expect(queries).toContain('GET /card')
})

describe('a peer of the configuration cannot name an address that allow_private opened for another use:', () => {
  /** Opens a peer at an address that allow_private opens too, which answers these paths. */
  async function openPeer(answers: (peerOrigin: string) => Readonly<Record<string, object>>) {
    let peerOrigin = ''
    const peer = createServer((request, response) => {
      const answer = answers(peerOrigin)[request.url ?? '']
      if (request.url === '/file') response.writeHead(302, { location: `${origin}/secret` }).end()
      else if (answer) response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
      else response.writeHead(404).end()
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void peer.close())
    await once(peer, 'listening')
    const { port } = peer.address() as AddressInfo
    peerOrigin = `http://127.0.0.1:${port}`
    return { peerOrigin: peerOrigin, port }
  }

  async function resolveAgent(agent: object, opened: readonly string[], hosts: Readonly<Record<string, number>> = {}) {
    gateway = await openTestGateway(({ network: { dns, loopback } }) => ({
      network: { dns, loopback: { ...loopback, ...hosts }, allow_private: opened },
      a2a: { auth: { api_keys: [{ name: 'tester', sha256: hash('sha256', apiKey) }] } },
      agents: { front: agent },
    }))
    return JSON.stringify(await sendMessage(gateway, 'front', {}))
  }

  const cardOf = (peerOrigin: string, members: object = {}) => ({
    name: 'peer',
    supportedInterfaces: [{ url: `${peerOrigin}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    ...members,
  })

  test('the token endpoint of its card', async () => {
    const flows = { clientCredentials: { tokenUrl: `${origin}/admin/users/1/delete`, scopes: {} } }
    const securitySchemes = { o: { oauth2SecurityScheme: { flows } } }
    const { peerOrigin } = await openPeer(own => ({
      '/card': cardOf(own, { securitySchemes, securityRequirements: [{ schemes: { o: {} } }] }),
    }))
    const oauth2 = { client_id: 'client', client_secret: 'the-secret-of-the-client' }
    await resolveAgent({ use: 'a2a', card: `${peerOrigin}/card`, oauth2 }, [peerOrigin, origin])
    expect(connections).toBe(0)
  })

  test('the token endpoint of its card at its own origin stays open', async () => {
    const { peerOrigin } = await openPeer(own => {
      const flows = { clientCredentials: { tokenUrl: `${own}/token`, scopes: {} } }
      const members = { securitySchemes: { o: { oauth2SecurityScheme: { flows } } } }
      const message = { messageId: randomUUID(), role: 'ROLE_AGENT', parts: [{ text: 'it has answered' }] }
      return {
        '/card': cardOf(own, { ...members, securityRequirements: [{ schemes: { o: {} } }] }),
        '/token': { access_token: 'token' },
        '/a2a': { jsonrpc: '2.0', id: 1, result: { message } },
      }
    })
    const oauth2 = { client_id: 'client', client_secret: 'the-secret-of-the-client' }
    expect(await resolveAgent({ use: 'a2a', card: `${peerOrigin}/card`, oauth2 }, [peerOrigin])).toContain(
      'it has answered',
    )
  })

  test('the card that its WebFinger names', async () => {
    const secure = origin.replace('http:', 'https:')
    const link = { rel: 'https://mentionable.dev/ns/rel/agent-card', href: `${secure}/card` }
    const subject = 'acct:bot@webfinger.test'
    const path = `/.well-known/webfinger?resource=${encodeURIComponent(subject)}`
    const { port } = await openPeer(() => ({ [path]: { subject, links: [link] } }))
    await resolveAgent({ use: 'a2a', address: '@bot@webfinger.test' }, [secure], { 'webfinger.test': port })
    expect(connections).toBe(0)
  })

  test('the target of a redirect from its file', async () => {
    const { peerOrigin } = await openPeer(own => ({
      '/hook': { parts: [{ kind: 'file', bytes_ref: { kind: 'url', url: `${own}/file` } }] },
    }))
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
    await resolveAgent({ use: 'webhook', url: `${peerOrigin}/hook`, secret }, [peerOrigin, origin])
    expect(connections).toBe(0)
  })
})
