import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { listenHttp } from './server.ts'

const stallMs = 1_000

/** A client that asks, and reads nothing until it is told to; then it rests after each piece. */
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

test('listenHttp() closes on a client that does not take its answer, and waits for one that takes it slowly', async () => {
  let held = 0
  const large = (size: number) => {
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        held += 65_536
        controller.enqueue(new Uint8Array(65_536))
        if (held >= size) controller.close()
      },
      cancel() {
        held = -1
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
  await expect.poll(() => held).toBe(-1)
  stalled.socket.destroy()

  const patient = ask(port, '/late')
  patient.socket.resume()
  await expect.poll(patient.bytes).toBeGreaterThan(0)
  expect(patient.isClosed()).toBe(false)
  await delay(2 * stallMs)
  expect(patient.isClosed()).toBe(false)

  const whole = 16 * 1024 * 1024
  const began = performance.now()
  const slow = ask(port, '/whole', 10)
  slow.socket.resume()
  await expect.poll(() => slow.isClosed() || slow.bytes() > whole).toBe(true)
  expect(slow.bytes()).toBeGreaterThan(whole)
  // Less time than that would be no slow client.
  expect(performance.now() - began).toBeGreaterThan(2 * stallMs)
  for (const { socket } of [patient, slow]) socket.destroy()
  await listening.close()
})
