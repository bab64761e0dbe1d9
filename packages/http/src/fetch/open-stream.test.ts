import type { Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ReadableStream } from 'node:stream/web'
import { Unavailable, Undeliverable } from '@postern/message'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createGuardedFetch } from './guarded-fetch.ts'

let server: Server
let fetch: ReturnType<typeof createGuardedFetch>
let respond: (response: ServerResponse) => void
let closed: Promise<void>

beforeEach(async () => {
  server = createServer((_, response) => {
    closed = new Promise(resolve => response.once('close', resolve))
    respond(response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  fetch = createGuardedFetch({ userAgent: 'test', loopback: { 'peer.test': port } })
})
afterEach(async () => {
  fetch.close()
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
})

async function readAll(body: AsyncIterable<Uint8Array>): Promise<string[]> {
  const pieces: string[] = []
  for await (const piece of body) pieces.push(Buffer.from(piece).toString())
  return pieces
}

test('openStream() yields chunks as they arrive', async () => {
  let sendMore = (): void => undefined
  respond = response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('one')
    sendMore = () => response.end('two')
  }
  const { status, headers, body } = await fetch.openStream('https://peer.test/')
  const pieces = body[Symbol.asyncIterator]()
  expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  expect(Buffer.from((await pieces.next()).value).toString()).toBe('one')
  sendMore()
  expect(Buffer.from((await pieces.next()).value).toString()).toBe('two')
  expect((await pieces.next()).done).toBe(true)
})

test('openStream() closes the exchange when its reader leaves the loop', async () => {
  respond = response => void response.writeHead(200).write('one')
  const { body } = await fetch.openStream('https://peer.test/')
  for await (const _ of body) break
  await closed
})

test('openStream() closes the exchange when the caller aborts, even before the response', async () => {
  const controller = new AbortController()
  respond = response => void response.writeHead(200).write('one')
  const { body } = await fetch.openStream('https://peer.test/', { signal: controller.signal })
  const reading = readAll(body)
  controller.abort()
  await expect(reading).rejects.toThrow(new Unavailable('Cannot fetch: canceled'))
  await closed
  const secondStream = fetch.openStream('https://peer.test/', { signal: controller.signal })
  await expect(secondStream).rejects.toThrow(new Unavailable('Cannot fetch: canceled'))
})

test('openStream() closes a silent stream, with or without a reader', async () => {
  respond = response => void response.writeHead(200).write('one')
  const { body } = await fetch.openStream('https://peer.test/', { idleMs: 30 })
  await expect(readAll(body)).rejects.toThrow(new Unavailable('Cannot fetch: stream went silent'))
  await fetch.openStream('https://peer.test/', { idleMs: 30 })
  await closed
})

test('openStream() limits the bytes that it reads, with or without a declared length', async () => {
  respond = response => void response.writeHead(200, { 'content-length': '100' }).end('x'.repeat(100))
  const declaredStream = fetch.openStream('https://peer.test/', { maxBytes: 99 })
  await expect(declaredStream).rejects.toThrow('Cannot fetch: answer is too large: 100 bytes, more than 99')
  respond = response => {
    response.writeHead(200)
    for (let count = 0; count < 100; count += 1) response.write('x')
    response.end()
  }
  const { body } = await fetch.openStream('https://peer.test/', { maxBytes: 99 })
  await expect(readAll(body)).rejects.toThrow(
    new Undeliverable('Cannot fetch: answer is too large: more than 99 bytes'),
  )
})

test.each(['http://peer.test/', 'https://127.0.0.1/', 'https://localhost/', 'https://user:x@peer.test/'])(
  'openStream() has the same guard: %s',
  async url => {
    await expect(fetch.openStream(url)).rejects.toBeInstanceOf(Undeliverable)
  },
)

test('openStream() throws for a silent server and for an unknown host', async () => {
  respond = () => undefined
  const slow = fetch.openStream('https://peer.test/', { timeoutMs: 30 })
  await expect(slow).rejects.toThrow(new Unavailable('Cannot fetch: no answer in time'))
  respond = response => response.destroy()
  await expect(fetch.openStream('https://peer.test/')).rejects.toThrow(
    new Unavailable('Cannot fetch: connection failed'),
  )
})

test('openStream() refuses more streams than the limit per host', async () => {
  respond = response => void response.writeHead(200).write('one')
  const open = () => fetch.openStream('https://peer.test/')
  await Promise.all(Array.from({ length: 32 }, open))
  await expect(open()).rejects.toThrow(new Unavailable('Cannot fetch: too many streams from this host'))
})

test('openStream() closes the exchange of a reader that leaves before reading', async () => {
  const answers = [
    (response: ServerResponse) => void response.writeHead(200).write('one'),
    (response: ServerResponse) => void response.writeHead(202).end(),
    (response: ServerResponse) => void response.writeHead(204).end(),
  ]
  for (let count = 0; count < 99; count += 1) {
    respond = answers[count % answers.length] ?? (() => undefined)
    const { body } = await fetch.openStream('https://peer.test/')
    await ReadableStream.from(body).cancel()
    await closed
  }
})
