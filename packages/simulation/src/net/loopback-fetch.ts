// Fetches `https://` URLs of simulated hosts as plain HTTP on loopback.
import type { IncomingMessage } from 'node:http'
import { request as sendRequest } from 'node:http'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'

interface LoopbackRequest {
  readonly method?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: Uint8Array | string | undefined
  /** The longest wait for the answer, ms. Default: 10 000. */
  readonly timeoutMs?: number | undefined
}

export interface LoopbackAnswer {
  readonly status: number
  readonly headers: Headers
  /** The body as text. */
  readonly body: string
}

/** The HTTP client of the simulation. It sends `https://host/…` as plain HTTP with that `Host` to the host's port on 127.0.0.1. */
export interface LoopbackFetch {
  request(address: string, request?: LoopbackRequest): Promise<LoopbackAnswer>
  /** This client in the form of a standard `fetch`, for libraries. */
  readonly fetch: typeof globalThis.fetch
}

/** Creates the client. It looks up the host in `ports` for every request, because hosts may be added later. */
export function createLoopbackFetch(ports: ReadonlyMap<string, number>): LoopbackFetch {
  return {
    async request(address, request = {}) {
      const signal = AbortSignal.timeout(request.timeoutMs ?? 10_000)
      const response = await exchange(ports, address, { ...request, signal })
      return { status: response.statusCode ?? 0, headers: readHeaders(response), body: await text(response) }
    },
    async fetch(input, init) {
      const request = new Request(input, init)
      const body = request.body ? new Uint8Array(await request.arrayBuffer()) : undefined
      const { method } = request
      // The request's own signal follows this one by a weak reference, so garbage collection can make it miss the abort.
      const signal = init?.signal ?? request.signal
      const headers = Object.fromEntries(request.headers)
      const response = await exchange(ports, request.url, { method, headers, body, signal })
      const status = response.statusCode ?? 0
      const hasBody = ![204, 205, 304].includes(status)
      const stream = hasBody ? (Readable.toWeb(response) as ReadableStream<Uint8Array>) : null
      return new Response(stream, { status, headers: readHeaders(response) })
    },
  }
}

function exchange(
  ports: ReadonlyMap<string, number>,
  address: string,
  { method = 'GET', headers = {}, body, signal }: LoopbackRequest & { readonly signal: AbortSignal },
): Promise<IncomingMessage> {
  const { protocol, host, pathname, search } = new URL(address)
  const port = protocol === 'https:' ? ports.get(host) : undefined
  if (port === undefined) throw new Error(`The simulation has no host for ${protocol}//${host}`)
  const length = body === undefined ? undefined : { 'content-length': String(Buffer.byteLength(body)) }
  return new Promise((resolve, reject) => {
    const request = sendRequest({
      host: '127.0.0.1',
      port,
      method,
      path: pathname + search,
      headers: { ...headers, ...length, host },
      agent: false,
      signal,
    })
    request.once('response', resolve)
    // The listener must stay, because the pipe breaks after a peer has answered early and closed the connection.
    request.on('error', reject)
    request.end(body)
  })
}

function readHeaders(response: IncomingMessage): Headers {
  const fields = Object.entries(response.headersDistinct)
  return new Headers(fields.flatMap(([name, values = []]) => values.map(value => [name, value] as [string, string])))
}
