import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { Rejection, Unavailable } from '@postern/message'
import { expect, test } from 'vitest'
import { countBodyIn, readBody } from './body.ts'
import { SocketRequest } from './socket-request.ts'

function post(body: BodyInit | null, headers: Readonly<Record<string, string>> = {}): Request {
  return new Request('https://agents.example/inbox', { method: 'POST', body, headers, duplex: 'half' } as RequestInit)
}

/** Counts what is pulled out of it; the first pull is the stream's own. */
function stream(chunks: readonly Uint8Array[]) {
  const pulled = { chunks: 0, isCanceled: false }
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const chunk = chunks[pulled.chunks]
        pulled.chunks += 1
        if (chunk) controller.enqueue(chunk)
        else controller.close()
      },
      cancel() {
        pulled.isCanceled = true
      },
    },
    { highWaterMark: 0 },
  )
  return { body, pulled }
}

const tooLarge = new Rejection('too_large', 'Cannot read body: larger than 10 bytes')

test.each([
  ['declared', { 'content-length': '10' }],
  ['undeclared', {}],
])('readBody() accepts a %s body of exactly the limit', async (_, headers) => {
  const bytes = Uint8Array.from({ length: 10 }, (_, at) => at)
  expect(await readBody(post(bytes, headers), 10)).toEqual(bytes)
})

test('readBody() accepts a request without a body', async () => {
  expect(await readBody(post(null), 10)).toEqual(new Uint8Array())
  expect(await readBody(new Request('https://agents.example/'), 10)).toEqual(new Uint8Array())
})

test('readBody() joins the chunks of a stream in order', async () => {
  const { body } = stream([Uint8Array.of(1, 2), Uint8Array.of(), Uint8Array.of(3)])
  expect(await readBody(post(body), 10)).toEqual(Uint8Array.of(1, 2, 3))
})

test('readBody() refuses a declared length over the limit without reading (A2A-E16)', async () => {
  const { body, pulled } = stream([new Uint8Array(11)])
  await expect(readBody(post(body, { 'content-length': '11' }), 10)).rejects.toThrow(tooLarge)
  expect(pulled.chunks).toBe(0)
})

test('readBody() stops reading a body without a length one byte over the limit (A2A-E16)', async () => {
  const { body, pulled } = stream(Array.from({ length: 100 }, () => new Uint8Array(5.5 * 2)))
  await expect(readBody(post(body), 10)).rejects.toThrow(tooLarge)
  expect(pulled).toEqual({ chunks: 1, isCanceled: true })
})

test('readBody() refuses more than the limit under a false length (A2A-E17)', async () => {
  await expect(readBody(post(new Uint8Array(11), { 'content-length': '5' }), 10)).rejects.toThrow(tooLarge)
})

test.each(['-1', '1e1', '0x5', '5, 6', 'five'])('readBody() refuses the length "%s"', async length => {
  await expect(readBody(post('hello', { 'content-length': length }), 10)).rejects.toThrow(
    new Rejection('malformed', 'Cannot read body: Content-Length is not a number'),
  )
})

test.each(['gzip', 'br', 'identity, gzip'])('readBody() refuses the content coding "%s" (A2A-E18)', async coding => {
  const { body, pulled } = stream([new Uint8Array(1)])
  await expect(readBody(post(body, { 'content-encoding': coding }), 10)).rejects.toThrow(
    new Rejection('unsupported', 'Cannot read body: content coding is not supported'),
  )
  expect(pulled.chunks).toBe(0)
})

test('readBody() accepts the coding identity', async () => {
  expect(await readBody(post('hi', { 'content-encoding': 'Identity' }), 10)).toHaveLength(2)
})

test.each([{ 'content-length': '5' }, {}])(
  'readBody() reports a broken connection as malformed, with %j',
  async headers => {
    const cause = new Error('ECONNRESET')
    const body = new ReadableStream({ pull: controller => controller.error(cause) })
    await expect(readBody(post(body, headers), 10)).rejects.toThrow(
      new Rejection('malformed', 'Cannot read body: connection was cut', { cause }),
    )
  },
)

/** A hold that has room for so many bytes. */
function openHold(capacity: number) {
  let heldBytes = 0
  const add = (bytes: number) => {
    if (heldBytes + bytes > capacity) throw new Unavailable('no room')
    heldBytes += bytes
  }
  return { add, release() {}, held: () => heldBytes }
}

test.each([
  ['small and declared', { 'content-length': '1000' }, 1_000],
  ['large and declared', { 'content-length': '100000' }, 100_000],
  ['undeclared', {}, 1_000],
])('readBody() counts a %s body towards its request’s memory', async (_, headers, size) => {
  const hold = openHold(size)
  const request = post(new Uint8Array(size), headers)
  countBodyIn(request, hold)
  expect(await readBody(request, 1_000_000)).toHaveLength(size)
  expect(hold.held()).toBe(size)
})

test('readBody() stops reading when the byte budget is full', async () => {
  const { body, pulled } = stream(Array.from({ length: 100 }, () => new Uint8Array(1_000)))
  const request = post(body)
  countBodyIn(request, openHold(2_500))
  await expect(readBody(request, 1_000_000)).rejects.toThrow(new Unavailable('no room'))
  expect(pulled).toEqual({ chunks: 3, isCanceled: true })
})

test('readBody() reserves memory for received bytes, not for the declared length', async () => {
  const hold = openHold(1_000_000)
  const { body } = stream([new Uint8Array(1_000)])
  const request = post(body, { 'content-length': '900000' })
  countBodyIn(request, hold)
  await readBody(request, 1_000_000)
  expect(hold.held()).toBe(1_000)
})

test('readBody() counts the overhead of bytes that arrive one by one', async () => {
  const hold = openHold(1_000_000)
  const { body } = stream(Array.from({ length: 1_000 }, () => new Uint8Array(1)))
  const request = post(body)
  countBodyIn(request, hold)
  await readBody(request, 1_000_000)
  expect(hold.held()).toBeGreaterThan(100_000)
})

test('readBody() reads every piece of a body whose client has left by then', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const requests = once(server, 'request')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.write('POST / HTTP/1.1\r\nHost: agents.example\r\nContent-Length: 9\r\n\r\n')
  const [incoming] = (await requests) as [IncomingMessage]
  for (const piece of ['abc', 'def', 'ghi']) {
    const length = incoming.readableLength + piece.length
    client.write(piece)
    while (incoming.readableLength < length) await delay(5)
  }
  const left = new Promise(resolve => incoming.on('close', resolve))
  client.destroy()
  await left
  expect(new TextDecoder().decode(await readBody(new SocketRequest(incoming), 10))).toBe('abcdefghi')
  server.close()
})
