import type { ClientRequest, Agent as HttpAgent, RequestOptions } from 'node:http'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import type { FetchAnswer, FetchRequest } from '@postern/core'
import type { Route } from '../address/url.ts'
import { readFetchAnswer } from './answer.ts'
import { toFetchError } from './error.ts'

export interface ExchangeRequest {
  readonly method: NonNullable<FetchRequest['method']>
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | string | undefined
  readonly maxBytes: number
}

export interface ConnectionOptions {
  readonly agent: HttpAgent
  readonly lookup: LookupFunction
}

const maxHeaderSize = 32 * 1024
/** Long enough for the better address of a distant host. */
const attemptTimeoutMs = 1_000

/** The far side closed a kept socket before it sent a byte. */
class StaleSocket extends Error {
  override readonly name = 'StaleSocket'
}

/** One request and one answer over the checked route. @throws Unavailable, Undeliverable */
export async function runExchange(
  route: Route,
  request: ExchangeRequest,
  wire: ConnectionOptions,
  signal: AbortSignal,
): Promise<FetchAnswer> {
  const options = toRequestOptions(route, request, wire)
  try {
    return await runRequest(startRequest(route, options), route, request, signal).catch(error => {
      if (!(error instanceof StaleSocket)) throw error
      // No answer began, so a new socket may repeat the request.
      return runRequest(startRequest(route, { ...options, agent: false }), route, request, signal)
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

export function startRequest({ secure }: Route, options: RequestOptions): ClientRequest {
  return secure ? requestHttps(options) : requestHttp(options)
}

function runRequest(
  outgoing: ClientRequest,
  { url }: Route,
  { method, body, maxBytes }: ExchangeRequest,
  signal: AbortSignal,
): Promise<FetchAnswer> {
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
    let bytesBefore = 0
    outgoing.once('socket', socket => {
      bytesBefore = socket.bytesRead
    })
    outgoing.once('response', incoming => {
      isAnswered = true
      readFetchAnswer(incoming, { url: url.href, hasBody: method !== 'HEAD', maxBytes }).then(resolve, fail)
    })
    outgoing.on('error', error => failUnanswered(isStale(outgoing, error, bytesBefore) ? new StaleSocket() : error))
    outgoing.once('close', () => {
      signal.removeEventListener('abort', abort)
      // An error costs a stack trace, so answered requests make none.
      if (!isAnswered) reject(new Error('closed without an answer'))
    })
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    else outgoing.end(body)
  })
}

function isStale({ reusedSocket, socket }: ClientRequest, error: NodeJS.ErrnoException, bytesBefore: number): boolean {
  return reusedSocket && socket?.bytesRead === bytesBefore && /^(ECONNRESET|EPIPE)$/.test(error.code ?? '')
}
