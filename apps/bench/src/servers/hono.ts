// Serves a fetch handler on a free loopback port.
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { listenOnFreePort } from './loopback.ts'

/** Serves a fetch handler on a free loopback port, as every contender that speaks Request and Response does. */
export function listenFetch(fetch: (request: Request) => Response | Promise<Response>): Promise<number> {
  return listenOnFreePort(createServer(getRequestListener(fetch)))
}
