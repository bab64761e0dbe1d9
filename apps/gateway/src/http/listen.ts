// Opens the HTTP socket, with limits on slow and endless requests.
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { ConfigError } from '@postern/message'
import type { Listening } from '@postern/pipeline'
import type { PaceOptions } from './slow-bodies.ts'
import { cutSlowBodies } from './slow-bodies.ts'

/** Node’s own limits on slow and endless requests. */
const socketLimits = {
  requestTimeout: 60_000,
  headersTimeout: 15_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 65_000,
  maxHeaderSize: 32 * 1024,
}

/** The time after which a connection is closed if its client has read no byte of an answer, ms. */
const stallMs = 60_000

interface ListenOptions {
  readonly host: string
  readonly port: number
  /** The stall time, ms. Default: 60 s. */
  readonly stallMs?: number | undefined
  /** The speed that bodies of requests must have. */
  readonly pace?: PaceOptions | undefined
}

/** Starts to listen. @throws ConfigError if the address is in use or belongs to another machine */
export async function listenHttp(
  app: { fetch(request: Request, env?: object): Response | Promise<Response> },
  { host, port, stallMs: patience = stallMs, pace }: ListenOptions,
): Promise<Listening> {
  const answer = getRequestListener((request, env) => app.fetch(request, env))
  const server = createHttpServer(socketLimits, (request, response) => {
    // A client may wait for its answer as long as it likes, but it must read an answer that is ready.
    response.setTimeout(patience, () => {
      if (request.socket.writableLength > 0) request.socket.destroy()
    })
    void answer(request, response)
  })
  // The app counts header fields and refuses too many. Node would silently drop the fields beyond its own limit.
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

/** Turns the reason why a socket did not open into a fault of the configuration. Returns other errors as they are. */
export function toListenError(key: string, cause: ListenFailure): Error {
  const { code, address, hostname = address, port } = cause
  if (code === undefined || hostname === undefined) return cause
  // The error of a Unix socket has no port, or a negative one.
  const isPort = port !== undefined && port >= 0
  const target = isPort ? `${hostname}:${port}` : hostname
  const name = hostname.startsWith('/') ? 'path' : 'port'
  const variable = `POSTERN_${key.replaceAll('.', '_').toUpperCase()}_${name.toUpperCase()}`
  const fix = `Free the ${name}, or set ${key}.${name} (${variable}) to another one.`
  return new ConfigError(key, `cannot listen on ${target} (${code})`, fix, { cause })
}
