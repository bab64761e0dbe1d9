import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2'
import { connect } from 'node:http2'
import { createConnection } from 'node:net'
import { gzipSync } from 'node:zlib'
import { status } from '@grpc/grpc-js'
import { createBodyBudget } from '@postern/limits'
import type { ListeningSocket } from '@postern/pipeline'
import { afterEach, expect, test, vi } from 'vitest'
import type { A2aTestGateway, A2aTestGatewayOptions } from '../setup/gateway.ts'
import { openA2aGateway } from '../setup/gateway.ts'
import { openGrpcClient } from '../setup/grpc-client.ts'

const mebibyte = 1024 ** 2
let gateway: A2aTestGateway
let listening: ListeningSocket
const sessions: ClientHttp2Session[] = []

async function open(options: A2aTestGatewayOptions = {}, total = 32 * mebibyte) {
  const bodies = createBodyBudget({
    maxBytes: total,
    refusal: 'Cannot take request: too much is being received',
  }).forChannel('a2a')
  gateway = await openA2aGateway({ ...options, bodies, config: { grpc: { port: 0 } } })
  const opened = await gateway.channel.endpoint.listen?.()
  if (!opened) throw new Error('nothing listens')
  listening = opened
}

afterEach(async () => {
  for (const session of sessions.splice(0)) session.destroy()
  await listening.close()
  await gateway.close()
})

interface OpenCall {
  readonly stream: ClientHttp2Stream
  /** The status with which the call ended. */
  readonly ended: Promise<string>
}

/** Opens a call and leaves its end to the test. */
function begin(path = '/lf.a2a.v1.A2AService/SendMessage', overrides: Readonly<Record<string, string>> = {}): OpenCall {
  const session = connect(`http://127.0.0.1:${listening.port}`)
  session.on('error', () => {})
  sessions.push(session)
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    authorization: `Bearer ${gateway.token}`,
    'a2a-version': '1.0',
    ...overrides,
  })
  const ended = new Promise<string>(resolve => {
    const settle = (code: unknown) => resolve(status[Number(code)] ?? String(code))
    stream.on('response', headers => headers['grpc-status'] !== undefined && settle(headers['grpc-status']))
    stream.on('trailers', trailers => settle(trailers['grpc-status']))
    stream.on('error', () => {})
    stream.on('close', () => settle('closed'))
  })
  stream.resume()
  return { stream, ended }
}

function frame(message: Buffer, flag = 0): Buffer {
  const head = Buffer.from([flag, 0, 0, 0, 0])
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

/** A message of 4 MB without its last byte. */
const unfinished = frame(Buffer.alloc(4 * mebibyte)).subarray(0, -1)

/** Opens calls that each send these bytes and no end. `refused` counts those that exceeded a limit. */
function sendAll(count: number, bytes: Buffer, ...call: Parameters<typeof begin>) {
  const calls = Array.from({ length: count }, () => begin(...call))
  let refused = 0
  for (const { ended, stream } of calls) {
    void ended.then(end => (refused += end === 'RESOURCE_EXHAUSTED' ? 1 : 0))
    stream.write(bytes)
  }
  return { calls, refused: () => refused }
}

test('the gateway refuses unfinished calls of 4 MB as soon as their bytes exceed the budget', async () => {
  await open()
  const { calls, refused } = sendAll(40, unfinished)
  await vi.waitFor(() => expect(refused()).toBeGreaterThan(35))
  expect(gateway.refusals).toContainEqual(
    expect.objectContaining({ code: 'rate_limited', claimed_sender: '@alice@issuer.test' }),
  )
  for (const { stream } of calls) stream.destroy()
  const client = openGrpcClient(listening.port)
  const metadata = { authorization: `Bearer ${gateway.token}`, 'a2a-version': '1.0' }
  await vi.waitFor(async () => {
    const answer = await client.call('getTask', { tenant: '', id: 'x'.repeat(mebibyte) }, { metadata })
    expect(answer.status.code).toBe(status.NOT_FOUND)
  })
  client.close()
}, 60_000)

test('one caller leaves memory for others', async () => {
  await open()
  const { refused } = sendAll(20, unfinished)
  await vi.waitFor(() => expect(refused()).toBeGreaterThan(15))
  const client = openGrpcClient(listening.port)
  const metadata = { authorization: `Bearer ${await gateway.issuer.sign({ sub: 'bob' })}`, 'a2a-version': '1.0' }
  const answer = await client.call('getTask', { tenant: '', id: 'x'.repeat(mebibyte) }, { metadata })
  expect(answer.status.code).toBe(status.NOT_FOUND)
  client.close()
}, 60_000)

test('the budget counts a message with its decompressed size', async () => {
  await open({}, 8 * mebibyte)
  const small = frame(gzipSync(Buffer.alloc(3 * mebibyte)), 1)
  const { refused } = sendAll(8, small, undefined, { 'grpc-encoding': 'gzip' })
  // Sooner than a slow message ends.
  await vi.waitFor(() => expect(refused()).toBeGreaterThan(4), { timeout: 9_000 })
})

test.each([
  ['as they arrive', unfinished, {}],
  ['as they decompress', frame(gzipSync(writeName('n'.repeat(4 * mebibyte - 16))), 1), { 'grpc-encoding': 'gzip' }],
])('the budget counts names of strangers’ health watches %s', async (_, bytes, headers) => {
  await open({}, 8 * mebibyte)
  const { refused } = sendAll(8, bytes, '/grpc.health.v1.Health/Watch', headers)
  // Sooner than a slow message ends.
  await vi.waitFor(() => expect(refused()).toBeGreaterThan(4), { timeout: 9_000 })
})

/** Writes a message with one text in its first field. */
function writeName(name: string): Buffer {
  const head: number[] = [0x0a]
  for (let remaining = name.length; remaining > 0; remaining >>>= 7)
    head.push((remaining & 0x7f) | (remaining > 0x7f ? 0x80 : 0))
  return Buffer.concat([Buffer.from(head), Buffer.from(name)])
}

test('the budget counts the overhead of tiny chunks', async () => {
  await open({}, mebibyte)
  const [large, tiny] = [begin(), begin()]
  large.stream.write(frame(Buffer.alloc(200 * 1024)).subarray(0, -1))
  tiny.stream.write(frame(Buffer.alloc(10_000)).subarray(0, 5))
  let hasEnded = false
  void tiny.ended.then(() => (hasEnded = true))
  for (let sent = 0; sent < 5_000 && !hasEnded; sent += 1) {
    tiny.stream.write(Buffer.alloc(1))
    await new Promise(resolve => setImmediate(resolve))
  }
  expect(hasEnded).toBe(true)
  expect(gateway.refusals.at(-1)).toMatchObject({ reason: expect.stringContaining('too much is being received') })
})

test('a message that arrives too slowly ends its call, even if only its end is missing', async () => {
  await open({ pace: 20 })
  const [stalled, complete] = [begin(), begin()]
  stalled.stream.write(unfinished.subarray(0, 20_000))
  complete.stream.write(frame(Buffer.from([0x12, 1, 0x61])))
  expect(await stalled.ended).toBe('RESOURCE_EXHAUSTED')
  expect(await complete.ended).toBe('RESOURCE_EXHAUSTED')
  expect(gateway.refusals.at(-1)).toMatchObject({ code: 'rate_limited', reason: expect.stringContaining('slower') })
})

test('a network may have a hundred connections at a time', async () => {
  await open()
  const sockets = Array.from({ length: 130 }, () => createConnection(listening.port, '127.0.0.1'))
  let closed = 0
  for (const socket of sockets) socket.on('error', () => {}).on('close', () => (closed += 1))
  await vi.waitFor(() => expect(closed).toBe(30))
  expect(gateway.refusals.at(-1)).toMatchObject({ reason: expect.stringContaining('too many open') })
  for (const socket of sockets) socket.destroy()
  await vi.waitFor(() => expect(closed).toBe(130))
  expect(await begin('/nothing/here').ended).toBe('UNIMPLEMENTED')
})
