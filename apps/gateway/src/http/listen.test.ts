import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { listenHttp } from './listen.ts'

const stallMs = 1_000

/** Sends a request as a client that reads nothing until the test lets it, and then pauses after each chunk. */
function ask(port: number, path: string, restMs = 0) {
  const socket = connect(port, '127.0.0.1')
  let bytes = 0
  let isClosed = false
  socket.on('data', chunk => {
    bytes += chunk.length
    if (restMs === 0) return
    socket.pause()
    setTimeout(() => socket.resume(), restMs)
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
  let heldBytes = 0
  const large = (size: number) => {
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        heldBytes += 65_536
        controller.enqueue(new Uint8Array(65_536))
        if (heldBytes >= size) controller.close()
      },
      cancel() {
        heldBytes = -1
      },
    })
    return new Response(body)
  }
  const app = new Hono()
    .get('/large', () => large(256 * 1024 * 1024))
    .get('/late', async context => {
      await delay(3 * stallMs)
      return context.text('late')
    })
    .get('/whole', context => context.body(new Uint8Array(16 * 1024 * 1024)))
  const listening = await listenHttp(app, { host: '127.0.0.1', port: 0, stallMs })
  const port = listening.port ?? 0

  const stalled = ask(port, '/large')
  await expect.poll(() => heldBytes).toBe(-1)
  stalled.socket.destroy()

  const patient = ask(port, '/late')
  patient.socket.resume()
  await expect.poll(patient.bytes).toBeGreaterThan(0)
  expect(patient.isClosed()).toBe(false)
  await delay(2 * stallMs)
  expect(patient.isClosed()).toBe(false)

  const sizeBytes = 16 * 1024 * 1024
  const began = performance.now()
  const slow = ask(port, '/whole', 10)
  slow.socket.resume()
  await expect.poll(() => slow.isClosed() || slow.bytes() > sizeBytes).toBe(true)
  expect(slow.bytes()).toBeGreaterThan(sizeBytes)
  // A download that took less time would not come from a slow client.
  expect(performance.now() - began).toBeGreaterThan(2 * stallMs)
  for (const { socket } of [patient, slow]) socket.destroy()
  await listening.close()
})
