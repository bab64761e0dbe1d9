// Opens the HTTP socket, with limits on slow and endless requests.
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { ListeningSocket } from '@postern/pipeline'
import type { ServeHot } from './hot-server.ts'
import { toListenError } from './listen-error.ts'
import type { MinPace } from './slow-bodies.ts'
import { cutSlowBodies } from './slow-bodies.ts'

/** Node’s own limits on slow and endless requests. */
const socketLimits = {
  requestTimeout: 60_000,
  headersTimeout: 15_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 65_000,
  maxHeaderSize: 32 * 1024,
  // Node would silently drop a repeated field. The Fetch standard joins it, and hot routes read the same value.
  joinDuplicateHeaders: true,
}

/** The time after which a connection is closed if its client has read no byte of an answer, ms. */
const defaultStallMs = 60_000

interface ListenOptions {
  readonly host: string
  readonly port: number
  /** The stall time, ms. Default: 60 s. */
  readonly stallMs?: number | undefined
  /** The minimum pace of request bodies. */
  readonly pace?: MinPace | undefined
}

/** The routes of a gateway, with and without Hono. */
export interface ServedRoutes {
  fetch(request: Request, env?: object): Response | Promise<Response>
  readonly serveHot: ServeHot
}

/** Starts to listen. @throws ConfigError if the address is in use or belongs to another machine */
export async function listenHttp(
  app: Pick<ServedRoutes, 'fetch'> & Partial<ServedRoutes>,
  { host, port, stallMs = defaultStallMs, pace }: ListenOptions,
): Promise<ListeningSocket> {
  const handleRequest = getRequestListener((request, env) => app.fetch(request, env))
  const server = createHttpServer(socketLimits, (request, response) => {
    // A client may wait for its answer as long as it likes, but it must read an answer that is ready.
    response.setTimeout(stallMs, () => {
      if (request.socket.writableLength > 0) request.socket.destroy()
    })
    if (!app.serveHot?.(request, response)) void handleRequest(request, response)
  })
  // The app counts header fields and refuses too many. Node would silently drop the fields beyond its own limit.
  server.maxHeadersCount = 0
  cutSlowBodies(server, pace)
  await new Promise<void>((resolve, reject) => {
    server.once('error', cause => reject(toListenError('listen', cause)))
    server.listen(port, host, resolve)
  })
  const boundPort = (server.address() as AddressInfo).port
  return {
    description: `http://${host.includes(':') ? `[${host}]` : host}:${boundPort}`,
    port: boundPort,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeIdleConnections()
        setTimeout(() => server.closeAllConnections(), 5_000).unref()
      }),
  }
}
