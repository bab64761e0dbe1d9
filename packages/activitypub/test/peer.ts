// Runs foreign servers that a test scripts.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface PeerRequest {
  readonly host: string
  readonly method: string
  /** The path without the query. */
  readonly path: string
  readonly query: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface PeerAnswer {
  readonly status?: number
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The body, which is sent as JSON if it is not text. */
  readonly body?: unknown
}

/** The response to a path. `hang` accepts the request and never answers. */
export type PeerRoute = PeerAnswer | 'hang' | ((request: PeerRequest) => PeerAnswer | Promise<PeerAnswer>)

/** Foreign servers on one port. `Host` selects one. */
export interface Peer {
  readonly loopback: Readonly<Record<string, number>>
  readonly requests: readonly PeerRequest[]
  serve(url: string, route: PeerRoute): void
  /** Returns the number of requests for this URL. */
  countOf(url: string): number
  forget(): void
  close(): Promise<void>
}

const activityType = 'application/activity+json'

export async function openPeer(hosts: readonly string[]): Promise<Peer> {
  const routes = new Map<string, PeerRoute>()
  const requests: PeerRequest[] = []
  const server = createServer((incoming, outgoing) => void take(incoming, outgoing))

  async function take(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const { host = '', ...headers } = incoming.headers
    const [path = '', query = ''] = (incoming.url ?? '').split('?', 2)
    const body = Buffer.concat(chunks).toString()
    const request = { host, method: incoming.method ?? '', path, query, headers, body }
    requests.push(request)
    const route = routes.get(`https://${host}${path}`) ?? { status: 404 }
    if (route !== 'hang') answer(outgoing, typeof route === 'function' ? await route(request) : route)
  }

  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    loopback: Object.fromEntries(hosts.map(host => [host, port])),
    requests,
    serve: (url, route) => void routes.set(url, route),
    countOf: url => requests.filter(({ host, path }) => `https://${host}${path}` === url).length,
    forget: () => void requests.splice(0),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function answer(
  outgoing: ServerResponse,
  { status = 200, type = activityType, headers = {}, body = '' }: PeerAnswer,
): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  outgoing.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text), ...headers })
  outgoing.end(text)
}
