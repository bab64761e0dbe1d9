import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'

/** Serves a fetch handler on a free loopback port, as every contender that speaks Request and Response does. */
export async function listenFetch(fetch: (request: Request) => Response | Promise<Response>): Promise<number> {
  const server = createServer(getRequestListener(fetch))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
