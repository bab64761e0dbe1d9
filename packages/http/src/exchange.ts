import type { ClientRequest, Agent as HttpAgent, RequestOptions } from 'node:http'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import type { FetchAnswer } from '@postern/core'
import { readAnswer } from './answer.ts'
import { toFetchError } from './fetch-error.ts'
import type { Route } from './fetch-url.ts'

export interface ExchangeRequest {
  readonly method: 'GET' | 'POST' | 'HEAD'
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | string | undefined
  readonly maxBytes: number
}

export interface Wiring {
  readonly agent: HttpAgent
  readonly lookup: LookupFunction
}

const maxHeaderSize = 32 * 1024
/** A far-away host must not lose its better address to impatience. */
const attemptTimeoutMs = 1_000

/** One request, one answer, by the checked route. @throws Unavailable, Undeliverable */
export async function exchange(
  route: Route,
  request: ExchangeRequest,
  wiring: Wiring,
  signal: AbortSignal,
): Promise<FetchAnswer> {
  const options = toRequestOptions(route, request, wiring)
  const first = startRequest(route, options)
  try {
    return await runRequest(first, route, request, signal)
  } catch (error) {
    if (signal.aborted || !isStale(first, error)) throw toFetchError(error)
  }
  // The far side had closed the kept socket while we wrote: nothing was answered, a socket of its own decides.
  const second = startRequest(route, { ...options, agent: false })
  return runRequest(second, route, request, signal).catch(error => {
    throw toFetchError(error)
  })
}

function toRequestOptions(route: Route, { method, headers }: ExchangeRequest, { agent, lookup }: Wiring) {
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

function startRequest({ secure }: Route, options: RequestOptions): ClientRequest {
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
    let isAnswered = false
    outgoing.once('response', incoming => {
      isAnswered = true
      readAnswer(incoming, { url: url.href, hasBody: method !== 'HEAD', maxBytes }).then(resolve, fail)
    })
    outgoing.on('error', reject)
    outgoing.once('close', () => {
      signal.removeEventListener('abort', abort)
      if (!isAnswered) reject(Object.assign(new Error('closed without an answer'), { code: 'ECONNRESET' }))
    })
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    else outgoing.end(body)
  })
}

/** Once an answer has begun, `readAnswer` speaks for it, and never with these codes. */
function isStale(outgoing: ClientRequest, error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return outgoing.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE')
}
