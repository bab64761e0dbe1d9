// Sends requests to a proxy or to the gateway behind it.
import type { IncomingMessage } from 'node:http'
import { request as requestPlain } from 'node:http'
import { request as requestTls } from 'node:https'
import { ourHost, ports } from '../names.ts'

interface ProxyRequest {
  readonly method?: string
  /** The path, sent exactly as written. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** The address that the client has. */
  readonly from?: string
  /** True if the request goes straight to the gateway, past the proxy. */
  readonly isInside?: boolean
}

interface ProxyAnswer {
  readonly status: number
  readonly text: string
  /** The time from the first chunk of the body to its end, ms. */
  readonly spreadMs: number
}

/** Makes one request on a connection of its own. It does not check the proxy's certificate. */
export async function requestThroughProxy({
  method = 'GET',
  path,
  headers = {},
  body,
  from,
  isInside,
}: ProxyRequest): Promise<ProxyAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const connection = { host: '127.0.0.1', agent: false as const, ...(from && { localAddress: from }) }
  const requestOptions = { method, path, headers: { host: ourHost, ...headers } }
  const outgoing = isInside
    ? requestPlain({ ...connection, ...requestOptions, port: ports.gateway }, resolve)
    : requestTls(
        { ...connection, ...requestOptions, port: 443, servername: ourHost, rejectUnauthorized: false },
        resolve,
      )
  outgoing.on('error', reject).end(body)
  const answer = await promise
  let text = ''
  let firstAt: number | undefined
  for await (const chunk of answer) {
    firstAt ??= performance.now()
    text += String(chunk)
  }
  const spreadMs = firstAt === undefined ? 0 : performance.now() - firstAt
  return { status: answer.statusCode ?? 0, text, spreadMs }
}
