// Runs one HTTP request over a checked route and reads its response within limits.

import type { ClientRequest, Agent as HttpAgent, IncomingMessage, RequestOptions } from 'node:http'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import type { FetchAnswer, FetchRequest, ParsedUrl } from '@postern/message'
import { Unavailable, Undeliverable } from '@postern/message'
import { refuseFetch } from '../address/refuse-fetch.ts'
import { joinBytes } from '../request/join-bytes.ts'

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

/** The sockets and the DNS lookup of a connection. */
export interface ConnectionOptions {
  readonly agent: HttpAgent
  readonly lookup: LookupFunction
}

const maxHeaderSize = 32 * 1024
/** The time for one connection attempt, long enough for the better address of a distant host. */
const attemptTimeoutMs = 1_000

/** The error of a reused socket that the server closed before it sent a byte. */
class StaleSocket extends Error {
  override readonly name = 'StaleSocket'
}

interface ExchangeOptions {
  readonly connection: ConnectionOptions
  readonly signal: AbortSignal
}

/**
 * Runs one request over the checked route and returns its response.
 * @throws Unavailable, Undeliverable
 */
export async function runExchange(
  route: Route,
  request: ExchangeRequest,
  { connection, signal }: ExchangeOptions,
): Promise<FetchAnswer> {
  const options = toRequestOptions(route, request, connection)
  try {
    return await runRequest(startRequest(route, options), { route, request, signal }).catch(error => {
      // The server may have read the request before the connection ended, so a request with effects is not repeated.
      if (!(error instanceof StaleSocket) || !request.isRepeatable) throw error
      return runRequest(startRequest(route, { ...options, agent: false }), { route, request, signal })
    })
  } catch (error) {
    throw toFetchError(error)
  }
}

export function toRequestOptions(
  route: Route,
  { method, headers }: ExchangeRequest,
  { agent, lookup }: ConnectionOptions,
) {
  return {
    method,
    headers: { ...headers, host: route.url.host },
    host: route.host,
    port: route.port,
    path: route.url.pathname + route.url.search,
    agent,
    lookup,
    maxHeaderSize,
    autoSelectFamilyAttemptTimeout: attemptTimeoutMs,
    rejectUnauthorized: true,
  }
}

export function startRequest({ isSecure }: Route, options: RequestOptions): ClientRequest {
  return isSecure ? requestHttps(options) : requestHttp(options)
}

interface RequestExchange {
  readonly route: Route
  readonly request: ExchangeRequest
  readonly signal: AbortSignal
}

function runRequest(outgoing: ClientRequest, { route, request, signal }: RequestExchange): Promise<FetchAnswer> {
  const { method, body, maxBytes } = request
  return new Promise<FetchAnswer>((resolve, reject) => {
    const abort = () => {
      reject(signal.reason)
      outgoing.destroy()
    }
    const fail = (error: unknown) => {
      reject(error)
      outgoing.destroy()
    }
    const failUnanswered = (error: unknown) => {
      if (!isAnswered) reject(error)
    }
    let isAnswered = false
    let initialBytesRead = 0
    outgoing.once('socket', socket => {
      initialBytesRead = socket.bytesRead
    })
    outgoing.once('response', incoming => {
      isAnswered = true
      readResponse(incoming, { url: route.url.href, hasBody: method !== 'HEAD', maxBytes }).then(resolve, fail)
    })
    outgoing.on('error', error =>
      failUnanswered(isStale(outgoing, error, initialBytesRead) ? new StaleSocket() : error),
    )
    outgoing.once('close', () => {
      signal.removeEventListener('abort', abort)
      // The creation of an error costs a stack trace, so a request with a response creates none.
      if (!isAnswered) reject(new Error('closed without an answer'))
    })
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    else outgoing.end(body)
  })
}

function isStale(
  { reusedSocket, socket }: ClientRequest,
  error: NodeJS.ErrnoException,
  initialBytesRead: number,
): boolean {
  return reusedSocket && socket?.bytesRead === initialBytesRead && /^(ECONNRESET|EPIPE)$/.test(error.code ?? '')
}

interface ResponseOptions {
  readonly url: string
  /** False after HEAD, whose headers describe a body that is not sent. */
  readonly hasBody: boolean
  readonly maxBytes: number
}

/**
 * Reads a response to its end.
 * @throws Undeliverable when it exceeds a limit, Unavailable when it is cut short
 */
async function readResponse(incoming: IncomingMessage, options: ResponseOptions): Promise<FetchAnswer> {
  const { url, hasBody, maxBytes } = options
  const status = readStatus(incoming)
  if (hasBody) checkResponseHead(incoming, maxBytes)
  const body = await collectBody(incoming, maxBytes)
  return { status, headers: toHeaders(incoming.rawHeaders), url, body }
}

/**
 * Returns the status of a response.
 * @throws Unavailable if it is not valid
 */
export function readStatus({ statusCode = 0 }: IncomingMessage): number {
  if (statusCode >= 200 && statusCode <= 599) return statusCode
  throw new Unavailable('Cannot fetch: answer has no valid status')
}

/**
 * Checks the headers of a response against the limits.
 * @throws Undeliverable if they exceed a limit
 */
export function checkResponseHead({ headers }: IncomingMessage, maxBytes: number): void {
  const contentCoding = headers['content-encoding'] ?? 'identity'
  const transferCoding = headers['transfer-encoding'] ?? 'chunked'
  if (contentCoding.trim().toLowerCase() !== 'identity' || transferCoding.trim().toLowerCase() !== 'chunked') {
    throw refuseFetch('answer is encoded although identity was asked for')
  }
  const declaredBytes = Number(headers['content-length'] ?? 0)
  if (declaredBytes > maxBytes) throw refuseFetch(`answer is too large: ${declaredBytes} bytes, more than ${maxBytes}`)
}

function collectBody(incoming: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    let size = 0
    incoming.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBytes) reject(refuseFetch(`answer is too large: more than ${maxBytes} bytes`))
      else chunks.push(chunk)
    })
    incoming.once('end', () => resolve(joinBytes(chunks, size)))
    incoming.once('error', cause => reject(new Unavailable('Cannot fetch: answer was cut short', { cause })))
  })
}

export function toHeaders(rawHeaders: readonly string[]): Headers {
  const headers = new Headers()
  for (let index = 0; index < rawHeaders.length; index += 2)
    headers.append(rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '')
  return headers
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
