import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { listenHttp } from './listen.ts'

const stallMs = 1_000

/** Sends a request as a client that reads nothing until the test lets it, and then pauses after each chunk. */
function openClient(port: number, path: string, pauseMs = 0) {
  const socket = connect(port, '127.0.0.1')
  let bytes = 0
  let isClosed = false
  socket.on('data', chunk => {
    bytes += chunk.length
    if (pauseMs === 0) return
    socket.pause()
    setTimeout(() => socket.resume(), pauseMs)
  })
  socket.on('close', () => {
    isClosed = true
  })
  socket.on('error', () => undefined)
  socket.pause()
  socket.write(`GET ${path} HTTP/1.1\r\nhost: a.test\r\n\r\n`)
  return { socket, bytes: () => bytes, isClosed: () => isClosed }
}

test('listenHttp() disconnects clients that do not read their response, and waits for slow readers', async () => {
  let sentBytes = 0
  const createLargeResponse = (size: number) => {
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        sentBytes += 65_536
        controller.enqueue(new Uint8Array(65_536))
        if (sentBytes >= size) controller.close()
      },
      cancel() {
        sentBytes = -1
      },
    })
    return new Response(body)
  }
  const app = new Hono()
    .get('/large', () => createLargeResponse(256 * 1024 * 1024))
    .get('/late', async context => {
      await delay(3 * stallMs)
      return context.text('late')
    })
    .get('/whole', context => context.body(new Uint8Array(16 * 1024 * 1024)))
  const listening = await listenHttp(app, { host: '127.0.0.1', port: 0, stallMs })
  const port = listening.port ?? 0

  const stalledClient = openClient(port, '/large')
  await expect.poll(() => sentBytes).toBe(-1)
  stalledClient.socket.destroy()

  const waitingClient = openClient(port, '/late')
  waitingClient.socket.resume()
  await expect.poll(waitingClient.bytes).toBeGreaterThan(0)
  expect(waitingClient.isClosed()).toBe(false)
  await delay(2 * stallMs)
  expect(waitingClient.isClosed()).toBe(false)

  const sizeBytes = 16 * 1024 * 1024
  const startedAt = performance.now()
  const slowClient = openClient(port, '/whole', 10)
  slowClient.socket.resume()
  await expect.poll(() => slowClient.isClosed() || slowClient.bytes() > sizeBytes).toBe(true)
  expect(slowClient.bytes()).toBeGreaterThan(sizeBytes)
  // A download that took less time would not come from a slow client.
  expect(performance.now() - startedAt).toBeGreaterThan(2 * stallMs)
  for (const { socket } of [waitingClient, slowClient]) socket.destroy()
  await listening.close()
})
