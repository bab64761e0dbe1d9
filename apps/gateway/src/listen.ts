import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { Listening } from '@postern/core'
import { ConfigError } from '@postern/core'
import type { Hono } from 'hono'

/** Limits of the socket itself: slow and endless requests end here. */
const socketLimits = {
  requestTimeout: 60_000,
  headersTimeout: 15_000,
  keepAliveTimeout: 65_000,
  maxHeaderSize: 32 * 1024,
}

/** @throws ConfigError when the address is taken or not ours */
export async function listenHttp(
  app: Hono,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<Listening> {
  const server = createServer(socketLimits, getRequestListener(app.fetch, { overrideGlobalObjects: false }))
  // More is counted and refused by the app; Node would silently drop what exceeds its own count.
  server.maxHeadersCount = 0
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      reject(
        new ConfigError(
          'listen',
          `cannot listen on ${host}:${port} (${cause.code})`,
          'Free the port, or set listen.port (POSTERN_LISTEN_PORT) to another one.',
          { cause },
        ),
      )
    })
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
