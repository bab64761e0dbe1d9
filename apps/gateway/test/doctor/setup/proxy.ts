// Runs a reverse proxy that can make faults.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The configuration of a proxy in front of the gateway, good or bad. */
export interface ProxyFaults {
  /** Changes the header fields of a request. Absent for a proxy that adds the client to `X-Forwarded-For`. */
  changeHeaders?(headers: IncomingHttpHeaders): IncomingHttpHeaders
  /** Matches the paths that the proxy itself answers, with 404. */
  readonly hiddenPaths?: RegExp
  /** Answers a path itself, or returns undefined to pass the request on. */
  answer?(url: string): { readonly status: number; readonly body?: string } | undefined
  /** The largest body in bytes; the proxy refuses larger ones with 413. */
  readonly maxBodyBytes?: number
  /** True if the proxy buffers answers until they end. */
  readonly isBuffering?: boolean
  /** Header fields that it sets in each answer; undefined removes one. */
  readonly answerHeaders?: Readonly<Record<string, string | undefined>>
}

export interface TestProxy {
  readonly port: number
  /** Sets the address that it passes requests on to. */
  setTarget(url: string): void
  /** Sets the faults for all later requests. */
  setFaults(faults: ProxyFaults): void
  close(): Promise<void>
}

const forward = (headers: IncomingHttpHeaders) => ({
  ...headers,
  'x-forwarded-for': [headers['x-forwarded-for'], '203.0.113.7'].filter(Boolean).join(', '),
})

/** Opens a reverse proxy that would end TLS, but without the TLS. */
export async function openProxy(): Promise<TestProxy> {
  let target = ''
  let faults: ProxyFaults = {}
  const server = createServer((incoming, outgoing) => {
    void pass(incoming, outgoing, { target, faults }).catch(() => outgoing.destroy())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    setTarget(url) {
      target = url
    },
    setFaults(newFaults) {
      faults = newFaults
    },
    close: () => new Promise<void>(resolve => server.close(() => resolve()).closeAllConnections()),
  }
}

interface Passing {
  readonly target: string
  readonly faults: ProxyFaults
}

async function pass(incoming: IncomingMessage, outgoing: ServerResponse, { target, faults }: Passing): Promise<void> {
  const { url = '/', method = 'GET' } = incoming
  const body = await readAll(incoming)
  const ownResponse = faults.answer?.(url)
  if (ownResponse)
    return void outgoing.writeHead(ownResponse.status, { 'content-type': 'application/json' }).end(ownResponse.body)
  if (faults.hiddenPaths?.test(url)) return void outgoing.writeHead(404).end()
  if (body.length > (faults.maxBodyBytes ?? Number.POSITIVE_INFINITY)) return void outgoing.writeHead(413).end()
  const headers = (faults.changeHeaders ?? forward)(incoming.headers)
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const askedRequest = request(`${target}${url}`, { method, headers, agent: false }, resolve)
    askedRequest.once('error', reject)
    askedRequest.end(body)
  })
  const responseHeaders = { ...answer.headers, ...faults.answerHeaders }
  const presentHeaders = Object.entries(responseHeaders).filter(([, value]) => value !== undefined)
  const bufferedBody = faults.isBuffering ? await readAll(answer) : undefined
  outgoing.writeHead(answer.statusCode ?? 502, Object.fromEntries(presentHeaders) as IncomingHttpHeaders)
  if (bufferedBody) outgoing.end(bufferedBody)
  else answer.pipe(outgoing)
}

async function readAll(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const chunk of stream) pieces.push(chunk)
  return Buffer.concat(pieces)
}
