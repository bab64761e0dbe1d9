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
  const place = port === undefined ? hostname : `${hostname}:${port}`
  const variable = `POSTERN_${key.replaceAll('.', '_').toUpperCase()}_PORT`
  const mend = `Free the port, or set ${key}.port (${variable}) to another one.`
  return new ConfigError(key, `cannot listen on ${place} (${code})`, mend, { cause })
}
