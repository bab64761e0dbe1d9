import { once } from 'node:events'
import { gzipSync } from 'node:zlib'
import type { FetchRequest } from '@postern/message'
import { Undeliverable } from '@postern/message'
import { afterEach, expect, test } from 'vitest'
import { createGuardedFetch } from '../../src/fetch/guarded-fetch.ts'
import type { TestListener } from '../listener.ts'
import { openHttpListener, openTcpListener } from '../listener.ts'

const open: { close(): unknown }[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map(listener => listener.close()))
})

function openFetch(listener: TestListener) {
  const fetch = createGuardedFetch({ userAgent: 'Postern/0.1', loopback: { 'a.test': listener.port } })
  open.push(listener, fetch)
  return fetch
}

const unavailable = (problem: string) =>
  expect.objectContaining({ name: 'Unavailable', message: `Cannot fetch: ${problem}` })
const undeliverable = (problem: string) => new Undeliverable(`Cannot fetch: ${problem}`)
const raw = (text: string) => openTcpListener(socket => socket.once('data', () => socket.write(text)))

test.each([
  ['accepts and never answers', async () => openTcpListener(() => undefined)],
  ['sends its headers byte by byte', async () => openSlowListener('HTTP/1.1 200 OK\r\nx: ')],
  ['sends its body byte by byte', async () => openSlowListener('HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n')],
  ['sends nothing but 103 Early Hints', async () => openSlowListener('', 'HTTP/1.1 103 Early Hints\r\n\r\n')],
])('createGuardedFetch() aborts at the deadline for a host that %s (AP-37)', async (_, listen) => {
  const fetch = openFetch(await listen())
  await expect(fetch('https://a.test/', { timeoutMs: 100 })).rejects.toThrow(unavailable('no answer in time'))
})

test('the deadline covers all redirects together', async () => {
  const listener = await openHttpListener((_, response) => {
    setTimeout(() => response.writeHead(302, { location: '/' }).end(), 60)
  })
  const fetch = openFetch(listener)
  await expect(fetch('https://a.test/', { timeoutMs: 150, redirects: 20 })).rejects.toThrow(
    unavailable('no answer in time'),
  )
  expect(listener.requests.length).toBeLessThan(4)
})

test('the deadline includes the DNS lookup', async () => {
  const fetch = createGuardedFetch({ userAgent: 'x', lookup: () => new Promise(() => undefined) })
  await expect(fetch('https://peer.example/', { timeoutMs: 50 })).rejects.toThrow(unavailable('no answer in time'))
})

test('an abort by the caller ends the exchange and closes the connection', async () => {
  const arrived = Promise.withResolvers<void>()
  const closed = Promise.withResolvers<void>()
  const listener = await openHttpListener((_, response) => {
    arrived.resolve()
    response.once('close', () => closed.resolve())
  })
  const controller = new AbortController()
  const answer = openFetch(listener)('https://a.test/', { signal: controller.signal })
  await arrived.promise
  controller.abort()
  await expect(answer).rejects.toThrow(unavailable('canceled'))
  await closed.promise
})

test('a caller with an earlier abort sends nothing', async () => {
  const listener = await openHttpListener((_, response) => response.end())
  const fetch = openFetch(listener)
  await expect(fetch('https://a.test/', { signal: AbortSignal.abort() })).rejects.toThrow(unavailable('canceled'))
  expect(listener.connections()).toBe(0)
})

test('createGuardedFetch() cuts off an endless body at the limit (AP-38)', async () => {
  const closed = Promise.withResolvers<void>()
  const listener = await openHttpListener((_, response) => {
    const pour = () => {
      while (response.write(Buffer.alloc(65_536)));
    }
    pour()
    response.on('drain', pour).once('close', () => closed.resolve())
  })
  await expect(openFetch(listener)('https://a.test/')).rejects.toThrow(
    undeliverable('answer is too large: more than 1048576 bytes'),
  )
  await closed.promise
})

test('createGuardedFetch() refuses a declared length over the limit before it reads the body (AP-38)', async () => {
  const fetch = openFetch(await raw('HTTP/1.1 200 OK\r\ncontent-length: 83886080\r\n\r\n'))
  await expect(fetch('https://a.test/')).rejects.toThrow(
    undeliverable('answer is too large: 83886080 bytes, more than 1048576'),
  )
})

test('maxBytes is the largest accepted body, with or without a declared length', async () => {
  const listener = await openHttpListener(({ url = '' }, response) => {
    if (url.startsWith('/declared')) response.setHeader('content-length', url.slice(-1))
    else response.flushHeaders()
    response.end('x'.repeat(Number(url.slice(-1))))
  })
  const fetch = openFetch(listener)
  const problems = { declared: '6 bytes, more than 5', chunked: 'more than 5 bytes' }
  for (const [path, problem] of Object.entries(problems)) {
    await expect(fetch(`https://a.test/${path}/5`, { maxBytes: 5 })).resolves.toHaveProperty('body.length', 5)
    await expect(fetch(`https://a.test/${path}/6`, { maxBytes: 5 })).rejects.toThrow(
      undeliverable(`answer is too large: ${problem}`),
    )
  }
})

test.each(['gzip', 'br', 'identity, gzip'])(
  'createGuardedFetch() refuses a body in the coding %s (AP-38)',
  async coding => {
    const listener = await openHttpListener((_, response) => {
      response.setHeader('content-encoding', coding).end(gzipSync(Buffer.alloc(1024 * 1024)))
    })
    await expect(openFetch(listener)('https://a.test/')).rejects.toThrow(
      undeliverable('answer is encoded although identity was asked for'),
    )
  },
)

test('createGuardedFetch() refuses a compressed transfer', async () => {
  const fetch = openFetch(await raw('HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n'))
  await expect(fetch('https://a.test/')).rejects.toThrow(
    undeliverable('answer is encoded although identity was asked for'),
  )
})

test('a HEAD request accepts the headers of an absent body', async () => {
  const listener = await openHttpListener((_, response) => {
    response.writeHead(200, { 'content-length': '99999999', 'content-encoding': 'gzip' }).end()
  })
  const answer = await openFetch(listener)('https://a.test/', { method: 'HEAD' })
  expect(answer.headers.get('content-length')).toBe('99999999')
  expect(answer.body).toEqual(new Uint8Array())
})

test.each([
  ['headers without end', `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(40_000)}`, undeliverable('answer headers are too large')],
  ['what is not HTTP', 'SSH-2.0-OpenSSH_9.6\r\n', unavailable('answer is not HTTP')],
  ['a status out of range', 'HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n', unavailable('answer has no valid status')],
  [
    'two lengths that differ',
    'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab',
    unavailable('answer is not HTTP'),
  ],
])('createGuardedFetch() refuses %s', async (_, text, error) => {
  await expect(openFetch(await raw(text))('https://a.test/')).rejects.toThrow(error)
})

test.each([
  ['before a byte of the answer', '', 'connection failed'],
  ['within the headers', 'HTTP/1.1 200 OK\r\nx: ', 'connection failed'],
  ['within a declared body', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf', 'answer was cut short'],
  [
    'within a chunked body',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n',
    'answer was cut short',
  ],
])('a connection that breaks %s throws Unavailable', async (_, text, problem) => {
  const listener = await openTcpListener(socket => socket.once('data', () => socket.end(text, () => socket.destroy())))
  await expect(openFetch(listener)('https://a.test/')).rejects.toThrow(unavailable(problem))
})

test('one host gets sixteen simultaneous exchanges, and others wait their turn (AP-37)', async () => {
  const waitingResponses: (() => void)[] = []
  const isFull = Promise.withResolvers<void>()
  const listener = await openHttpListener((_, response) => {
    waitingResponses.push(() => response.end())
    if (waitingResponses.length === 16) isFull.resolve()
  })
  const otherListener = await openHttpListener((_, response) => response.end())
  open.push(otherListener)
  const fetch = createGuardedFetch({
    userAgent: 'x',
    loopback: { 'a.test': listener.port, 'b.test': otherListener.port },
  })
  open.push(listener, fetch)
  const answers = Array.from({ length: 20 }, () => fetch('https://a.test/'))
  await isFull.promise
  await expect(fetch('https://b.test/')).resolves.toHaveProperty('status', 200)
  await expect(fetch('https://a.test/', { timeoutMs: 20 })).rejects.toThrow(unavailable('no answer in time'))
  expect(listener.requests).toHaveLength(16)
  while (listener.requests.length < 20 || waitingResponses.length > 0) {
    waitingResponses.shift()?.()
    await new Promise(setImmediate)
  }
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(20).fill(200))
  expect(listener.connections()).toBeLessThanOrEqual(16)
})

test('createGuardedFetch() refuses a call when 256 others already wait for the host (AP-43)', async () => {
  const listener = await openHttpListener(() => undefined)
  const fetch = openFetch(listener)
  const controller = new AbortController()
  const openFetches = Array.from({ length: 16 + 256 }, () => fetch('https://a.test/', { signal: controller.signal }))
  const outcomes = Promise.allSettled(openFetches)
  await expect(fetch('https://a.test/')).rejects.toThrow(unavailable('too many requests wait for this host'))
  controller.abort()
  expect(new Set((await outcomes).map(({ status }) => status))).toEqual(new Set(['rejected']))
})

test('createGuardedFetch() reuses a kept-alive connection', async () => {
  const listener = await openHttpListener((_, response) => response.end())
  const fetch = openFetch(listener)
  for (let times = 0; times < 3; times += 1) await fetch('https://a.test/')
  expect(listener.connections()).toBe(1)
})

test.each<{ repeats: boolean; request: FetchRequest }>([
  { repeats: true, request: {} },
  { repeats: false, request: { method: 'POST', body: 'x' } },
  { repeats: true, request: { method: 'POST', body: 'x', isRepeatable: true } },
  { repeats: false, request: { method: 'PUT', body: 'x', isRepeatable: false } },
])(
  'createGuardedFetch() repeats $request on a new connection after a reset: $repeats',
  async ({ repeats, request }) => {
    let connections = 0
    const listener = await openTcpListener(socket => {
      connections += 1
      const isFirst = connections === 1
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
        if (isFirst) socket.once('data', () => socket.resetAndDestroy())
      })
    })
    const fetch = openFetch(listener)
    await fetch('https://a.test/')
    const secondFetch = fetch('https://a.test/', request)
    if (repeats) await expect(secondFetch).resolves.toHaveProperty('status', 200)
    else await expect(secondFetch).rejects.toThrow(unavailable('connection failed'))
    expect(connections).toBe(repeats ? 2 : 1)
  },
)

test('the repeated request uses a new connection, even if all kept ones are dead', async () => {
  const bothArrived = Promise.withResolvers<void>()
  let arrivedCount = 0
  const listener = await openTcpListener(socket => {
    socket.once('data', async () => {
      arrivedCount += 1
      if (arrivedCount === 2) bothArrived.resolve()
      await bothArrived.promise
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
      socket.once('data', () => socket.resetAndDestroy())
    })
  })
  const fetch = openFetch(listener)
  await Promise.all([fetch('https://a.test/'), fetch('https://a.test/')])
  await expect(fetch('https://a.test/')).resolves.toHaveProperty('status', 200)
  expect(listener.connections()).toBe(3)
})

test('createGuardedFetch() does not repeat a request whose response breaks off', async () => {
  const listener = await openTcpListener(socket => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
      socket.once('data', () => socket.write('HTTP/1.1 2', () => socket.destroy()))
    })
  })
  const fetch = openFetch(listener)
  await fetch('https://a.test/')
  await expect(fetch('https://a.test/')).rejects.toThrow(unavailable('connection failed'))
  expect(listener.connections()).toBe(1)
})

test('createGuardedFetch() does not repeat a request that the server resets on a new connection', async () => {
  const listener = await openTcpListener(socket => socket.once('data', () => socket.resetAndDestroy()))
  await expect(openFetch(listener)('https://a.test/')).rejects.toThrow(unavailable('connection failed'))
  expect(listener.connections()).toBe(1)
})

test('close() ends kept connections and running exchanges', async () => {
  const arrived = Promise.withResolvers<void>()
  const listener = await openHttpListener(() => arrived.resolve())
  const fetch = openFetch(listener)
  const answer = fetch('https://a.test/')
  await arrived.promise
  fetch.close()
  await expect(answer).rejects.toThrow(unavailable('connection failed'))
})

/** Never finishes, never falls silent. */
async function openSlowListener(start: string, drop = 'x'): Promise<TestListener> {
  return openTcpListener(async socket => {
    await once(socket, 'data')
    socket.write(start)
    const timer = setInterval(() => socket.write(drop), 5)
    socket.once('close', () => clearInterval(timer))
  })
}
