// Listens on a free loopback port, and keeps idle connections open.
import { once } from 'node:events'
import { Server as HttpServer } from 'node:http'
import type { AddressInfo, Server } from 'node:net'

/**
 * The time that idle connections stay open, ms, longer than a run. On a busy machine, five seconds pass between two requests, and a server would
 * otherwise reset a connection in use.
 */
const keepAliveMs = 3_600_000

/** Lets a server listen on a free port of loopback. @returns the port */
export async function listenOnFreePort(server: Server): Promise<number> {
  if (server instanceof HttpServer) server.keepAliveTimeout = keepAliveMs
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
