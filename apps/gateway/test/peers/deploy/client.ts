import type { IncomingMessage } from 'node:http'
import { request as requestPlain } from 'node:http'
import { request as requestTls } from 'node:https'
import { ourHost, ports } from '../names.ts'

interface ProxyRequest {
  readonly method?: string
  /** Sent as it is written. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** Address that the client has. */
  readonly from?: string
  /** Straight to the gateway, past the proxy. */
  readonly isInside?: boolean
}

interface ProxyAnswer {
  readonly status: number
  readonly text: string
  /** Milliseconds from the first piece of the body to its end. */
  readonly spreadMs: number
}

/** One request by a connection of its own. Nobody here checks the proxy's certificate. */
export async function ask({
  method = 'GET',
  path,
  headers = {},
  body,
  from,
  isInside,
}: ProxyRequest): Promise<ProxyAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const place = { host: '127.0.0.1', agent: false as const, ...(from && { localAddress: from }) }
  const what = { method, path, headers: { host: ourHost, ...headers } }
  const outgoing = isInside
    ? requestPlain({ ...place, ...what, port: ports.gateway }, resolve)
    : requestTls({ ...place, ...what, port: 443, servername: ourHost, rejectUnauthorized: false }, resolve)
  outgoing.on('error', reject).end(body)
  const answer = await promise
  let text = ''
  let firstAt: number | undefined
  for await (const piece of answer) {
    firstAt ??= performance.now()
    text += String(piece)
  }
  const spreadMs = firstAt === undefined ? 0 : performance.now() - firstAt
  return { status: answer.statusCode ?? 0, text, spreadMs }
}
