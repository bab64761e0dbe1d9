// Runs one HTTP request over a checked route and reads its response within limits.

import type { LookupFunction, Socket } from 'node:net'
import type { FetchAnswer, FetchRequest, ParsedUrl } from '@postern/message'
import { Unavailable, Undeliverable } from '@postern/message'
import { refuseFetch } from '../address/refuse-fetch.ts'
import type { Connections, KeptConnection } from '../connection/connections.ts'
import { ResponseReader } from '../connection/response-reader.ts'

/** A checked URL with its route. */
export interface Route {
  readonly url: ParsedUrl
  /** True if the operator opened its origin, so that its addresses need not be public. */
  readonly isPrivateAllowed: boolean
  readonly isSecure: boolean
  /** A name, or an IP literal without brackets. */
  readonly host: string
  readonly port: number
}

export type UrlGuard = (url: string) => Route

export interface ExchangeRequest {
  readonly method: NonNullable<FetchRequest['method']>
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | string | undefined
  readonly maxBytes: number
  readonly isRepeatable: boolean
}

/** The time for which a connection stays open after an exchange, unless the server announces less. */
const idleMs = 15_000

/** The error of a reused connection that the server closed before it sent a byte. */
class StaleConnection extends Error {
  override readonly name = 'StaleConnection'
}

interface ExchangeOptions {
  readonly connections: Connections
  readonly lookup: LookupFunction
  readonly signal: AbortSignal
}

/**
 * Runs one request over the checked route and returns its response.
 * @throws Unavailable, Undeliverable
 */
export async function runExchange(
  route: Route,
  request: ExchangeRequest,
  { connections, lookup, signal }: ExchangeOptions,
): Promise<FetchAnswer> {
  const send = (connection: KeptConnection) => sendRequest(connection, { connections, route, request, signal })
  try {
    signal.throwIfAborted()
    return await send(connections.take(route, lookup)).catch(error => {
      // The server may have read the request before the connection ended, so a request with effects is not repeated.
      if (!(error instanceof StaleConnection) || !request.isRepeatable) throw error
      return send(connections.open(route, lookup))
    })
  } catch (error) {
    throw toFetchError(error)
  }
}

interface RequestExchange {
  readonly connections: Connections
  readonly route: Route
  readonly request: ExchangeRequest
  readonly signal: AbortSignal
}

function sendRequest(
  connection: KeptConnection,
  { connections, route, request, signal }: RequestExchange,
): Promise<FetchAnswer> {
  return new Promise<FetchAnswer>((resolve, reject) => {
    const { socket, isReused } = connection
    const reader = new ResponseReader({ hasBody: request.method !== 'HEAD', maxBytes: request.maxBytes })
    let hasBytes = false
    const leave = () => {
      connection.listener = undefined
      signal.removeEventListener('abort', abort)
    }
    const fail = (error: unknown) => {
      leave()
      socket.destroy()
      reject(error)
    }
    const abort = () => fail(signal.reason)
    const finishIfComplete = () => {
      if (!reader.isComplete) return
      leave()
      connections.release(connection, reader.countIdleMs(idleMs))
      resolve({ ...reader.finish(), url: route.url.href })
    }
    connection.listener = {
      onBytes(bytes) {
        hasBytes = true
        try {
          reader.read(bytes)
          finishIfComplete()
        } catch (error) {
          fail(error)
        }
      },
      onEnd(cause) {
        if (!cause) reader.end()
        if (reader.isComplete) return finishIfComplete()
        if (reader.hasHead) return fail(new Unavailable('Cannot fetch: answer was cut short', { cause }))
        fail(
          isReused && !hasBytes && isReset(cause)
            ? new StaleConnection()
            : (cause ?? new Error('closed without an answer')),
        )
      },
    }
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    else writeRequest(socket, route.url, request)
  })
}

/** Writes a request. Its head and its body leave together. */
function writeRequest(socket: Socket, url: ParsedUrl, { method, headers, body }: ExchangeRequest): void {
  let head = `${method} ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\nconnection: keep-alive\r\n`
  for (const [name, value] of Object.entries(headers)) head += `${name}: ${value}\r\n`
  socket.cork()
  socket.write(`${head}\r\n`, 'latin1')
  if (body !== undefined && body.length > 0) socket.write(body)
  socket.uncork()
}

function isReset(error: NodeJS.ErrnoException | undefined): boolean {
  return error === undefined || error.code === 'ECONNRESET' || error.code === 'EPIPE'
}

const certificateErrorPattern = /CERT|SELF_SIGNED|UNABLE_TO_/

/** Returns the gateway's error for an error of the network. */
export function toFetchError(error: unknown): Error {
  if (error instanceof Undeliverable || error instanceof Unavailable) return error
  const { code = '' } = error as NodeJS.ErrnoException
  if (code === 'HPE_HEADER_OVERFLOW') return refuseFetch('answer headers are too large', { cause: error })
  return new Unavailable(`Cannot fetch: ${describeCode(code)}`, { cause: error })
}

function describeCode(code: string): string {
  if (certificateErrorPattern.test(code)) return 'certificate is not valid'
  if (code.startsWith('HPE_')) return 'answer is not HTTP'
  return 'connection failed'
}
