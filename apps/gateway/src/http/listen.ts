import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { Listening } from '@postern/core'
import { ConfigError } from '@postern/core'

/** Limits of the socket itself: slow and endless requests end here. */
const socketLimits = {
  requestTimeout: 60_000,
  headersTimeout: 15_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 65_000,
  maxHeaderSize: 32 * 1024,
}

/** Of an answer something has to be taken within this time, ms: what nobody reads is not held for ever. */
const stallMs = 60_000

interface ListenOptions {
  readonly host: string
  readonly port: number
  /** Default 60 s. */
  readonly stallMs?: number | undefined
  /** How fast bodies have to come. */
  readonly pace?: PaceOptions | undefined
}

/** @throws ConfigError when the address is taken or not ours */
export async function listenHttp(
  app: { fetch(request: Request, env?: object): Response | Promise<Response> },
  { host, port, stallMs: patience = stallMs, pace }: ListenOptions,
): Promise<Listening> {
  const answer = getRequestListener((request, env) => app.fetch(request, env))
  const server = createServer(socketLimits, (request, response) => {
    // Who waits for an answer may wait: only one that is there has to be taken.
    response.setTimeout(patience, () => {
      if (request.socket.writableLength > 0) request.socket.destroy()
    })
    void answer(request, response)
  })
  // More is counted and refused by the app; Node would silently drop what exceeds its own count.
  server.maxHeadersCount = 0
  cutSlowBodies(server, pace)
  await new Promise<void>((resolve, reject) => {
    server.once('error', cause => reject(toListenError('listen', cause)))
    server.listen(port, host, resolve)
  })
  const bound = (server.address() as AddressInfo).port
  return {
    description: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeIdleConnections()
        setTimeout(() => server.closeAllConnections(), 5_000).unref()
      }),
  }
}

interface ListenFailure extends NodeJS.ErrnoException {
  readonly address?: string
  readonly hostname?: string
  readonly port?: number
}

/** What keeps a socket from opening as a fault of the configuration; anything else as it is. */
export function toListenError(key: string, cause: ListenFailure): Error {
  const { code, address, hostname = address, port } = cause
  if (code === undefined || hostname === undefined) return cause
  // A path has none, or a negative one.
  const isPort = port !== undefined && port >= 0
  const place = isPort ? `${hostname}:${port}` : hostname
  const name = hostname.startsWith('/') ? 'path' : 'port'
  const variable = `POSTERN_${key.replaceAll('.', '_').toUpperCase()}_${name.toUpperCase()}`
  const fix = `Free the ${name}, or set ${key}.${name} (${variable}) to another one.`
  return new ConfigError(key, `cannot listen on ${place} (${code})`, fix, { cause })
}

interface PaceOptions {
  /** ms. */
  readonly everyMs: number
  /** What has to come of a body in that time, unless its end does. */
  readonly minBytes: number
}

/** 3 KiB a second: a phone on its slowest network sends faster. */
const usualPace: PaceOptions = { everyMs: 4_000, minBytes: 12 * 1024 }

interface Pace {
  readonly response: ServerResponse
  /** Bytes of its connection at the last look; none before the first. */
  seen?: number | undefined
}

/** Cuts requests whose body comes more slowly than that, with 408. Bodies that wait for us are not slow. */
export function cutSlowBodies(server: Server, { everyMs, minBytes }: PaceOptions = usualPace): void {
  const coming = new Map<IncomingMessage, Pace>()

  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!hasBody(request)) return
    coming.set(request, { response })
    const forget = () => void coming.delete(request)
    request.once('end', forget).once('close', forget)
    response.once('close', forget)
  })

  function look(): void {
    for (const [request, pace] of coming) {
      const total = request.socket.bytesRead
      const isWaitingForUs = request.readableLength > 0 || request.complete
      const isSlow = pace.seen !== undefined && total - pace.seen < minBytes
      if (!isWaitingForUs && isSlow) cut(request, pace.response)
      // While it waits nothing comes: its time begins anew once we read on.
      pace.seen = isWaitingForUs ? undefined : total
    }
  }

  const timer = setInterval(look, everyMs).unref()
  server.once('close', () => clearInterval(timer))
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

function cut(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request
  if (!response.headersSent)
    socket.write('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
  socket.destroySoon()
}
