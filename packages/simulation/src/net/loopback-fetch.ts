import type { IncomingMessage } from 'node:http'
import { request as sendRequest } from 'node:http'
import { Readable } from 'node:stream'

interface LoopbackRequest {
  readonly method?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: Uint8Array | string | undefined
  readonly signal?: AbortSignal | undefined
  /** Default 10 000. */
  readonly timeoutMs?: number | undefined
}

/** What the gateway answered, as text. */
export type TextAnswer = Omit<LoopbackAnswer, 'body'> & { readonly body: string }

export interface LoopbackAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: Buffer
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
      const timeout = AbortSignal.timeout(request.timeoutMs ?? 10_000)
      const signal = request.signal ? AbortSignal.any([request.signal, timeout]) : timeout
      const response = await exchange(ports, address, { ...request, signal })
      return {
        status: response.statusCode ?? 0,
        headers: readHeaders(response),
        body: await readAll(response),
      }
    },
    async fetch(input, init) {
      const request = new Request(input, init)
      const body = request.body ? new Uint8Array(await request.arrayBuffer()) : undefined
      const { method, headers, signal } = request
      const response = await exchange(ports, request.url, {
        method,
        headers: Object.fromEntries(headers),
        body,
        signal,
      })
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
  { method = 'GET', headers = {}, body, signal }: LoopbackRequest,
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
      ...(signal && { signal }),
    })
    request.once('response', resolve)
    // Stays for good: a peer that answers early and closes breaks the pipe after its answer has been read.
    request.on('error', reject)
    request.end(body)
  })
}

function readHeaders(response: IncomingMessage): Headers {
  const headers = new Headers()
  for (const [name, values] of Object.entries(response.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value)
  }
  return headers
}

/** Everything a stream has, as one buffer. */
export async function readAll(stream: AsyncIterable<unknown>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
