// Generates HTTP/1.1 load over raw sockets: saturated, or at a fixed rate.
import type { Connection } from './connection.ts'
import { openConnection } from './connection.ts'
import type { HttpAnswer } from './message.ts'

export interface HttpLoad {
  readonly port: number
  readonly connections: number
  readonly requests: readonly Uint8Array[]
  isAccepted(answer: HttpAnswer): boolean
}

interface LoadOutcome {
  readonly accepted: number
  readonly seconds: number
  /** The latency of each request, ms. */
  readonly latencies: readonly number[]
}

/** Keeps every connection busy until no requests are left or the seconds are over. */
export async function saturateServer(load: HttpLoad, seconds = 60): Promise<LoadOutcome> {
  const until = performance.now() + seconds * 1000
  let next = 0
  return runConnections(load, async send => {
    while (performance.now() < until) {
      const request = load.requests[next++]
      if (!request) return
      await send(request, performance.now())
    }
  })
}

/**
 * Sends `perSecond` requests at a fixed rate, regardless of the answers. Latency counts from the time when a request was due, so a stall counts for
 * every request that it delayed.
 */
export async function paceServer(load: HttpLoad, perSecond: number): Promise<LoadOutcome> {
  const begun = performance.now()
  let next = 0
  return runConnections(load, async send => {
    while (true) {
      const index = next++
      const request = load.requests[index]
      if (!request) return
      const due = begun + (index / perSecond) * 1000
      await waitUntil(due)
      await send(request, due)
    }
  })
}

async function waitUntil(due: number): Promise<void> {
  const wait = due - performance.now()
  if (wait > 0) await new Promise(resolve => setTimeout(resolve, wait))
}

type Send = (request: Uint8Array, due: number) => Promise<void>

async function runConnections(load: HttpLoad, drive: (send: Send) => Promise<void>): Promise<LoadOutcome> {
  const { port, connections, isAccepted } = load
  const open = await Promise.all(Array.from({ length: connections }, () => openConnection(port)))
  const latencies: number[] = []
  const sendBy =
    (connection: Connection): Send =>
    async (request, due) => {
      const answer = await connection.exchange(request)
      if (!isAccepted(answer)) throw new Error(`refused with ${answer.status}: ${answer.body.toString().slice(0, 400)}`)
      latencies.push(performance.now() - due)
    }
  const begun = performance.now()
  try {
    await Promise.all(open.map(connection => drive(sendBy(connection))))
  } finally {
    for (const connection of open) connection.close()
  }
  return { accepted: latencies.length, seconds: (performance.now() - begun) / 1000, latencies }
}
