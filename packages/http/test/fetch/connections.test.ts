import { once } from 'node:events'
import { createServer } from 'node:https'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterEach, expect, test } from 'vitest'
import { createGuardedFetch } from '../../src/fetch/guarded-fetch.ts'
import { makeCertificate } from '../certificate.ts'
import type { TestListener } from '../listener.ts'
import { listenOn, openTcpListener } from '../listener.ts'

const open: { close(): unknown }[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map(listener => listener.close()))
})

function openFetch(listener: TestListener) {
  const fetch = createGuardedFetch({ userAgent: 'x', loopback: { 'a.test': listener.port } })
  open.push(listener, fetch)
  return fetch
}

const emptyResponse = 'HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n'

/** Answers each piece of data with the same response. */
const answerAlways = (response: string) => openTcpListener(socket => socket.on('data', () => socket.write(response)))

test.each([
  ['uses a connection again', `${emptyResponse}\r\n`, 1],
  ['opens another connection after `Connection: close`', `${emptyResponse}connection: close\r\n\r\n`, 3],
  ['opens another connection if the server keeps it for a second', `${emptyResponse}keep-alive: timeout=1\r\n\r\n`, 3],
  ['opens another connection after bytes behind the response', `${emptyResponse}\r\nHTTP/1.1 200 OK\r\n\r\n`, 3],
])('the guarded fetch %s', async (_, response, connections) => {
  const listener = await answerAlways(response)
  const fetch = openFetch(listener)
  for (let times = 0; times < 3; times += 1)
    expect((await fetch('https://a.test/', { method: 'POST', body: 'x' })).status).toBe(202)
  expect(listener.connections()).toBe(connections)
})

test('a response that arrives between two exchanges answers none of them', async () => {
  const sockets: Socket[] = []
  const listener = await openTcpListener(socket => {
    sockets.push(socket)
    socket.on('data', () => socket.write(`${emptyResponse}\r\n`))
  })
  const fetch = openFetch(listener)
  await fetch('https://a.test/')
  // An idle connection would close by itself after fifteen seconds.
  const closed = once(sockets[0] as Socket, 'close', { signal: AbortSignal.timeout(5_000) })
  sockets[0]?.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfake')
  await closed
  expect((await fetch('https://a.test/')).status).toBe(202)
  expect(listener.connections()).toBe(2)
})

test('the guarded fetch leaves a connection on which an early response cut the request off', async () => {
  const listener = await openTcpListener(socket =>
    socket.once('data', () => {
      socket.pause()
      socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n')
    }),
  )
  const fetch = openFetch(listener)
  const body = new Uint8Array(64 * 1024 * 1024)
  expect((await fetch('https://a.test/', { method: 'POST', body })).status).toBe(413)
  expect((await fetch('https://a.test/', { method: 'POST', body })).status).toBe(413)
  expect(listener.connections()).toBe(2)
})

test('a second TLS connection to a host resumes the session of the first', async () => {
  const usual = getCACertificates('default')
  const pair = makeCertificate('peer.internal')
  const resumed: boolean[] = []
  const server = createServer(pair, ({ socket }, response) => {
    resumed.push((socket as TLSSocket).isSessionReused())
    response.setHeader('connection', 'close').end()
  })
  const listener = await listenOn(server, [])
  const origin = `https://peer.internal:${listener.port}`
  setDefaultCACertificates([pair.cert])
  const fetch = createGuardedFetch({ userAgent: 'x', allowPrivate: [origin], lookup: async () => ['127.0.0.1'] })
  open.push(listener, fetch)
  try {
    await fetch(`${origin}/`)
    await fetch(`${origin}/`)
  } finally {
    setDefaultCACertificates(usual)
  }
  expect(resumed).toEqual([false, true])
})
