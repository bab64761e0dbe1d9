// Generates HTTP/1.1 load over raw sockets: saturated, or at a fixed rate.
import type { Connection } from './connection.ts'
import { openConnection } from './connection.ts'
import type { HttpAnswer } from './message.ts'

export interface HttpLoad {
  readonly port: number
  readonly connections: number
  readonly requests: readonly Uint8Array[]
  /** Returns true for the answer that the load must get; any other answer ends the measurement. */
  isExpected(answer: HttpAnswer): boolean
}

interface LoadOutcome {
  readonly expectedCount: number
  readonly seconds: number
  /** The latency of each request, ms. */
  readonly latencies: readonly number[]
}

/** Keeps every connection busy until no requests are left or the seconds are over. */
export async function saturateServer(load: HttpLoad, seconds = 60): Promise<LoadOutcome> {
  const endsAt = performance.now() + seconds * 1000
  let next = 0
  return runConnections(load, async send => {
    while (performance.now() < endsAt) {
      const request = load.requests[next++]
      if (!request) return
      await send(request, performance.now())
    }
  })
}

/**
 * Sends `perSecond` requests per second, without waiting for responses. Latency counts from the time when a request was due, so a stall counts for
 * every request that it delayed.
 */
export async function paceServer(load: HttpLoad, perSecond: number): Promise<LoadOutcome> {
  const startedAt = performance.now()
  let next = 0
  return runConnections(load, async send => {
    while (true) {
      const index = next++
      const request = load.requests[index]
      if (!request) return
      const dueAt = startedAt + (index / perSecond) * 1000
      await waitUntil(dueAt)
      await send(request, dueAt)
    }
  })
}

async function waitUntil(dueAt: number): Promise<void> {
  const wait = dueAt - performance.now()
  if (wait > 0) await new Promise(resolve => setTimeout(resolve, wait))
}

type Send = (request: Uint8Array, dueAt: number) => Promise<void>

async function runConnections(load: HttpLoad, drive: (send: Send) => Promise<void>): Promise<LoadOutcome> {
  const { port, connections, isExpected } = load
  const openConnections = await Promise.all(Array.from({ length: connections }, () => openConnection(port)))
  const latencies: number[] = []
  const createSend =
    (connection: Connection): Send =>
    async (request, dueAt) => {
      const answer = await connection.exchange(request)
      if (!isExpected(answer)) throw new Error(`refused with ${answer.status}: ${answer.body.toString().slice(0, 400)}`)
      latencies.push(performance.now() - dueAt)
    }
  const startedAt = performance.now()
  try {
    await Promise.all(openConnections.map(connection => drive(createSend(connection))))
  } finally {
    for (const connection of openConnections) connection.close()
  }
  return { expectedCount: latencies.length, seconds: (performance.now() - startedAt) / 1000, latencies }
}
