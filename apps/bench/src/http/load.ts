import { once } from 'node:events'
import { connect } from 'node:net'

export interface HttpLoad {
  readonly port: number
  readonly connections: number
  readonly requests: readonly Uint8Array[]
  isAccepted(answer: HttpAnswer): boolean
}

interface LoadOutcome {
  readonly accepted: number
  readonly seconds: number
  /** ms each */
  readonly latencies: readonly number[]
}

/** Keeps every connection busy until the requests or the seconds run out. */
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
 * Sends `perSecond` requests on their own clock, whatever the answers do. Latency counts from when a request was due,
 * so a stall is charged to every request it delayed.
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

/** One kept-alive HTTP/1.1 connection that costs the load generator next to nothing. */
interface Connection {
  /** Writes a whole request and waits for its answer; one at a time. */
  exchange(request: Uint8Array): Promise<HttpAnswer>
  close(): void
}

export async function openConnection(port: number): Promise<Connection> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true })
  await once(socket, 'connect')
  let pending: Buffer = Buffer.alloc(0)
  let waiting: { resolve(answer: HttpAnswer): void; reject(error: Error): void } | undefined
  socket.on('data', chunk => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    const answer = parseAnswer(pending)
    if (!answer) return
    pending = pending.subarray(answer.end)
    waiting?.resolve(answer)
  })
  socket.on('error', error => waiting?.reject(error))
  socket.on('close', () => waiting?.reject(new Error('the server closed the connection')))
  return {
    exchange: request =>
      new Promise((resolve, reject) => {
        waiting = { resolve, reject }
        socket.write(request)
      }),
    close: () => void socket.destroy(),
  }
}

/** One HTTP/1.1 request as bytes, ready for a socket. */
export function formatRequest(target: string, headers: Readonly<Record<string, string>>, body: Uint8Array): Uint8Array {
  const lines = Object.entries({ ...headers, 'content-length': String(body.length) }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  return Buffer.concat([Buffer.from(`POST ${target} HTTP/1.1\r\n${lines.join('')}\r\n`), body])
}

export interface HttpAnswer {
  readonly status: number
  readonly body: Buffer
}

/** The answer at the start of `bytes`, and where it ends; undefined while it is incomplete. */
export function parseAnswer(bytes: Buffer): (HttpAnswer & { readonly end: number }) | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const head = bytes.toString('latin1', 0, headEnd).toLowerCase()
  const status = Number(head.slice(9, 12))
  const start = headEnd + 4
  if (head.includes('transfer-encoding: chunked')) return parseChunked(bytes, start, status)
  const length = Number(/\r\ncontent-length: *(\d+)/.exec(head)?.[1] ?? 0)
  const end = start + length
  return bytes.length < end ? undefined : { status, body: bytes.subarray(start, end), end }
}

function parseChunked(bytes: Buffer, start: number, status: number): (HttpAnswer & { end: number }) | undefined {
  const chunks: Buffer[] = []
  let at = start
  while (true) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    const next = lineEnd + 2 + size + 2
    if (bytes.length < next) return undefined
    if (size === 0) return { status, body: Buffer.concat(chunks), end: next }
    chunks.push(bytes.subarray(lineEnd + 2, next - 2))
    at = next
  }
}
