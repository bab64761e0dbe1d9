import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { Unavailable, Undeliverable } from '@postern/message'
import { afterEach, expect, test, vi } from 'vitest'
import type { TestListener } from '../../test/listener.ts'
import { openHttpListener, openTcpListener } from '../../test/listener.ts'
import type { GuardedFetchOptions } from './guarded-fetch.ts'
import { createGuardedFetch } from './guarded-fetch.ts'

/** Lies in 2000::/3, belongs to nobody any more and is routed nowhere: public, and no third party is bothered. */
const unreachable = '3ffe:ffff::1'
const notPublic = new Undeliverable('Cannot fetch: address is not public')

const open: { close(): unknown }[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map(listener => listener.close()))
})

async function listen(answer: Parameters<typeof openHttpListener>[0]): Promise<TestListener> {
  const listener = await openHttpListener(answer)
  open.push(listener)
  return listener
}

function openFetch(options: Partial<GuardedFetchOptions> = {}) {
  const fetch = createGuardedFetch({ userAgent: 'Postern/0.1', ...options })
  open.push(fetch)
  return fetch
}

test('createGuardedFetch() sends https of a loopback host as plain HTTP with its own Host', async () => {
  const server = await listen(async (request, response) => {
    response.setHeader('content-type', 'text/plain').end(`${request.method} ${request.url} ${await text(request)}`)
  })
  const fetch = openFetch({ loopback: { 'mastodon.test': server.port } })
  const answer = await fetch('https://mastodon.test/inbox?a=b', { method: 'POST', body: 'hello' })
  expect(answer.url).toBe('https://mastodon.test/inbox?a=b')
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('text/plain')
  expect(Buffer.from(answer.body).toString()).toBe('POST /inbox?a=b hello')
  expect(server.requests[0]?.headers).toEqual({
    host: 'mastodon.test',
    'user-agent': 'Postern/0.1',
    'accept-encoding': 'identity',
    'content-length': '5',
    connection: 'keep-alive',
  })
})

test('createGuardedFetch() lets no caller set cookies or connection headers', async () => {
  const server = await listen((_, response) => response.end())
  const fetch = openFetch({ loopback: { 'a.test': server.port } })
  const headers = {
    Host: 'b.test',
    Cookie: 'a=b',
    'Accept-Encoding': 'gzip',
    'Content-Length': '9',
    'Transfer-Encoding': 'chunked',
    Connection: 'upgrade',
    Signature: 'sig',
  }
  await fetch('https://a.test/', { headers })
  expect(server.requests[0]?.headers).toEqual({
    host: 'a.test',
    'user-agent': 'Postern/0.1',
    'accept-encoding': 'identity',
    signature: 'sig',
    connection: 'keep-alive',
  })
})

test.each([
  ['a line break in a value (A2A-P07)', { 'x-token': 'a\r\nhost: b' }],
  ['a NUL in a value', { 'x-token': 'a\0' }],
  ['a character outside Latin-1', { 'x-token': 'ā' }],
  ['a line break in a name', { 'x\r\ny': 'a' }],
  ['an empty name', { '': 'a' }],
])('createGuardedFetch() refuses %s and sends nothing', async (_, headers) => {
  const server = await listen((_, response) => response.end())
  const fetch = openFetch({ loopback: { 'a.test': server.port } })
  await expect(fetch('https://a.test/', { headers })).rejects.toThrow(
    new Undeliverable('Cannot fetch: header holds characters that do not belong there'),
  )
  expect(server.connections()).toBe(0)
})

test('createGuardedFetch() sends the bytes of a body unchanged', async () => {
  const server = await listen((request, response) => request.pipe(response))
  const fetch = openFetch({ loopback: { 'a.test': server.port } })
  const body = Uint8Array.from({ length: 256 }, (_, byte) => byte)
  const answer = await fetch('https://a.test/', { method: 'POST', body })
  expect(answer.body).toEqual(body)
})

test('createGuardedFetch() opens an allowed origin, with its name in Host and a DNS query', async () => {
  const server = await listen((_, response) => response.end('in'))
  const lookup = vi.fn(async () => ['127.0.0.1'])
  const origin = `http://desk.internal:${server.port}`
  const fetch = openFetch({ lookup, allowPrivate: [origin] })
  expect((await fetch(`${origin}/x`)).status).toBe(200)
  expect(lookup.mock.calls).toEqual([['desk.internal']])
  expect(server.requests[0]?.headers.host).toBe(`desk.internal:${server.port}`)
})

test('createGuardedFetch() opens only the named origin, and no other port of its address', async () => {
  const allowedListener = await listen((_, response) => response.end())
  const otherListener = await listen((_, response) => response.end())
  const fetch = openFetch({ allowPrivate: [`http://127.0.0.1:${allowedListener.port}`] })
  await expect(fetch(`http://127.0.0.1:${allowedListener.port}/`)).resolves.toHaveProperty('status', 200)
  await expect(fetch(`http://127.0.0.1:${otherListener.port}/`)).rejects.toThrow(
    new Undeliverable('Cannot fetch: scheme is not https'),
  )
  expect(otherListener.connections()).toBe(0)
})

test('createGuardedFetch() refuses a literal private address before any connection (A2A-P01)', async () => {
  const lookup = vi.fn(async () => ['127.0.0.1'])
  await expect(openFetch({ lookup })('https://0x7f.1/')).rejects.toThrow(notPublic)
  expect(lookup).not.toHaveBeenCalled()
})

test.each([
  ['A2A-P03: a name with a private address', ['10.0.0.1']],
  ['A2A-P04: two addresses, one of them private', [unreachable, '127.0.0.1']],
  ['A2A-P04: two addresses, the first of them private', ['127.0.0.1', unreachable]],
  ['AP-33: an IPv4-mapped private address', ['::ffff:127.0.0.1']],
  ['what is no address at all', ['localhost']],
])('createGuardedFetch() refuses %s without a connection', async (_, addresses) => {
  const attempts = await watchAttempts(async () => {
    await expect(openFetch({ lookup: async () => addresses })('https://peer.example/')).rejects.toThrow(notPublic)
  })
  expect(attempts).toEqual([])
})

test('createGuardedFetch() connects to the checked address, even if DNS changes (AP-35)', async () => {
  const lookup = vi.fn(async () => (lookup.mock.calls.length > 1 ? ['127.0.0.1'] : [unreachable]))
  const fetch = openFetch({ lookup })
  const attempts = await watchAttempts(async () => {
    await expect(fetch('https://peer.example/', { timeoutMs: 500 })).rejects.toThrow(Unavailable)
  })
  expect(attempts).toEqual([`${unreachable}:443`])
  expect(lookup).toHaveBeenCalledTimes(1)
  await expect(fetch('https://peer.example/')).rejects.toThrow(notPublic)
})

test('an address that becomes private between two lookups never reaches the private listener (AP-35)', async () => {
  const innerListener = await listen((_, response) => response.end('secret'))
  const answers = [['127.0.0.1'], ['127.0.0.1', unreachable]]
  const fetch = openFetch({
    lookup: async () => answers.shift() ?? ['127.0.0.1'],
    loopback: { 'a.test': innerListener.port },
  })
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await expect(fetch('https://peer.example/')).rejects.toThrow(notPublic)
  }
  expect(innerListener.connections()).toBe(0)
})

test('createGuardedFetch() tries the next checked address if the first does not connect', async () => {
  const server = await listen((_, response) => response.end('second'))
  const origin = `http://two.internal:${server.port}`
  const fetch = openFetch({ lookup: async () => ['::1', '127.0.0.1'], allowPrivate: [origin] })
  expect(Buffer.from((await fetch(`${origin}/`)).body).toString()).toBe('second')
})

test.each([
  [
    'is unknown',
    () => Promise.reject(Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND' })),
    'host name cannot be resolved',
  ],
  ['has no address', async () => [], 'host name has no address'],
])('createGuardedFetch() throws Unavailable for a name that %s', async (_, lookup, problem) => {
  await expect(openFetch({ lookup })('https://peer.example/')).rejects.toThrow(
    expect.objectContaining({ name: 'Unavailable', message: `Cannot fetch: ${problem}` }),
  )
})

test('createGuardedFetch() throws Unavailable for a closed port', async () => {
  const closedListener = await openTcpListener(() => undefined)
  await closedListener.close()
  await expect(openFetch({ loopback: { 'a.test': closedListener.port } })('https://a.test/')).rejects.toThrow(
    expect.objectContaining({ name: 'Unavailable', message: 'Cannot fetch: connection failed' }),
  )
})

test('concurrent connections, and with a clock those of the next five seconds, share one DNS lookup', async () => {
  const server = await listen((_, response) => response.setHeader('connection', 'close').end())
  const lookup = vi.fn(async () => ['127.0.0.1'])
  const origin = `http://desk.internal:${server.port}`
  let now = 0
  const fetch = openFetch({ lookup, allowPrivate: [origin], now: () => now })
  await Promise.all([fetch(origin), fetch(origin), fetch(origin)])
  now = 4_999
  await fetch(origin)
  expect(lookup).toHaveBeenCalledTimes(1)
  now = 5_001
  await fetch(origin)
  expect(lookup).toHaveBeenCalledTimes(2)
})

test('createGuardedFetch() does not cache a failed DNS lookup', async () => {
  const server = await listen((_, response) => response.end())
  const lookup = vi.fn(async () => ['127.0.0.1']).mockRejectedValueOnce(new Error('SERVFAIL'))
  const origin = `http://desk.internal:${server.port}`
  const fetch = openFetch({ lookup, allowPrivate: [origin], now: () => 0 })
  await expect(fetch(origin)).rejects.toThrow(Unavailable)
  await expect(fetch(origin)).resolves.toHaveProperty('status', 200)
})

/** Lists the addresses to which sockets try to connect while `act` runs. */
async function watchAttempts(act: () => Promise<void>): Promise<string[]> {
  const attempts: string[] = []
  const watch = (message: unknown) => {
    const { socket } = message as { readonly socket: Socket }
    socket.on('connectionAttempt', (ip, port) => attempts.push(`${ip}:${port}`))
  }
  subscribe('net.client.socket', watch)
  await act().finally(() => unsubscribe('net.client.socket', watch))
  return attempts
}
