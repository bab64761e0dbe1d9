// Fetches `https://` URLs of simulated hosts as plain HTTP on loopback.
import type { IncomingMessage } from 'node:http'
import { request as sendRequest } from 'node:http'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'

interface LoopbackRequest {
  readonly method?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: Uint8Array | string | undefined
  /** Default 10 000. */
  readonly timeoutMs?: number | undefined
}

export interface LoopbackAnswer {
  readonly status: number
  readonly headers: Headers
  /** The body as text. */
  readonly body: string
}

/** The world's way out: `https://host/…` goes as plain HTTP with its `Host` to 127.0.0.1 at the port of that host. */
export interface LoopbackFetch {
  request(address: string, request?: LoopbackRequest): Promise<LoopbackAnswer>
  /** The same as a standard `fetch`, for libraries. */
  readonly fetch: typeof globalThis.fetch
}

/** Hosts are looked up in `ports` at every call: the map may grow. */
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
      // A signal of the request's own follows this one by a weak reference, and misses its abort after a collection of garbage.
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
    // Stays for good: a peer that answers early and closes breaks the pipe after its answer has been read.
    request.on('error', reject)
    request.end(body)
  })
}

function readHeaders(response: IncomingMessage): Headers {
  const fields = Object.entries(response.headersDistinct)
  return new Headers(fields.flatMap(([name, values = []]) => values.map(value => [name, value] as [string, string])))
}
