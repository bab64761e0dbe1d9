import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { Hono } from 'hono'
import { expect, onTestFinished, test } from 'vitest'
import { listenHttp } from './listen.ts'
import { cutSlowBodies } from './slow-bodies.ts'

const pace = { checkIntervalMs: 500, minBytesPerCheck: 1_000 }

async function listen(app: Hono, usedPace = pace): Promise<number> {
  const listening = await listenHttp(app, { host: '127.0.0.1', port: 0, pace: usedPace })
  onTestFinished(() => listening.close())
  return listening.port
}

/** Sends `bytes` of a body of 100 000 bytes every 50 ms, and returns everything that arrives before the connection ends. */
function sendSlowly(port: number, bytes: number): Promise<string> {
  return new Promise(resolve => {
    let receivedText = ''
    let remainingBytes = 100_000
    const socket = connect(port, '127.0.0.1')
    socket.write(`POST / HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\ncontent-length: ${remainingBytes}\r\n\r\n`)
    const timer = setInterval(() => {
      const piece = Math.min(bytes, remainingBytes)
      remainingBytes -= piece
      if (piece > 0) socket.write(Buffer.alloc(piece, 32))
    }, 50)
    socket.on('data', data => (receivedText += data.toString()))
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearInterval(timer)
      resolve(receivedText)
    })
  })
}

const echoSize = () => new Hono().post('/', async c => c.text(`took ${(await c.req.arrayBuffer()).byteLength}`))

test('the server ends a slow body with 408', async () => {
  expect(await sendSlowly(await listen(echoSize()), 1)).toMatch(/^HTTP\/1\.1 408 /)
})

test('the server ends a body that never arrives with 408, even if no handler reads it', async () => {
  const unreadingApp = new Hono().post('/', () => new Promise<Response>(() => undefined))
  for (const app of [echoSize(), unreadingApp])
    expect(await sendSlowly(await listen(app), 0)).toMatch(/^HTTP\/1\.1 408 /)
})

test('the server reads a fast enough body completely', async () => {
  // The body takes five seconds, so the server checks twice, and a busy machine may send late in between.
  const slowPace = { checkIntervalMs: 2_000, minBytesPerCheck: 1_000 }
  expect(await sendSlowly(await listen(echoSize(), slowPace), 1_000)).toContain('took 100000')
})

test('a handler may take as long as it needs after the whole body has arrived', async () => {
  const app = new Hono().post('/', async c => {
    await delay(3 * pace.checkIntervalMs)
    return c.text(`took ${(await c.req.arrayBuffer()).byteLength}`)
  })
  expect(await sendSlowly(await listen(app), 100_000)).toContain('took 100000')
})

test('the server does not close a kept-alive connection because of an earlier request', async () => {
  const server = createServer((incoming, outgoing) => void incoming.resume().on('end', () => outgoing.end('ok')))
  cutSlowBodies(server, pace)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const sendRequest = () =>
    new Promise<number | undefined>((resolve, reject) => {
      const outgoingRequest = request(
        { port, method: 'POST', agent: undefined, headers: { 'content-length': 2 } },
        response => {
          response.resume().on('end', () => resolve(response.statusCode))
        },
      )
      outgoingRequest.on('error', reject)
      outgoingRequest.end('{}')
    })
  expect(await sendRequest()).toBe(200)
  await delay(3 * pace.checkIntervalMs)
  expect(await sendRequest()).toBe(200)
})
