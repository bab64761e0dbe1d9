// Serves plain HTTP on a free loopback port for simulated hosts.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** A request with its complete body. */
export interface SimRequest {
  readonly method: string
  /** The host from the `Host` field, in lower case and without a port. */
  readonly host: string
  /** The path and query as sent. */
  readonly target: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export interface SimAnswer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: string | Uint8Array | undefined
}

export interface LoopbackServer {
  readonly port: number
  close(): Promise<void>
}

/** Serves plain HTTP on a free port of 127.0.0.1. If the handler returns undefined, the connection is cut. */
export async function openLoopbackServer(
  handle: (request: SimRequest) => Promise<SimAnswer | undefined>,
): Promise<LoopbackServer> {
  const server = createServer((incoming, outgoing) => {
    handleRequest(handle, incoming, outgoing).catch(() => outgoing.destroy())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function handleRequest(
  handle: (request: SimRequest) => Promise<SimAnswer | undefined>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const answer = await handle(await readRequest(incoming))
  if (!answer) return void outgoing.destroy()
  outgoing.writeHead(answer.status, answer.headers).end(answer.body)
}

async function readRequest(incoming: IncomingMessage): Promise<SimRequest> {
  const host = (incoming.headers.host ?? '').toLowerCase().replace(/:\d+$/, '')
  const target = incoming.url ?? '/'
  const { pathname, searchParams } = new URL(target, 'https://sim.invalid')
  const { method = 'GET', headers } = incoming
  return { method, host, target, path: pathname, query: searchParams, headers, body: await buffer(incoming) }
}

export function answerJson(value: unknown, type = 'application/json', status = 200): SimAnswer {
  return { status, headers: { 'content-type': type }, body: JSON.stringify(value) }
}
