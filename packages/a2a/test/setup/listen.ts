// Serves routes on loopback.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { Hono } from 'hono'

/** Serves routes on a real socket on loopback. */
export async function listenOnLoopback(routes: Hono, onRequest?: (authorization: string | undefined) => void) {
  const answer = getRequestListener(routes.fetch)
  const server = createServer((request, response) => {
    onRequest?.(request.headers.authorization)
    void answer(request, response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
