// Opens long HTTP responses as streams, with limits on their size, their pauses and their number.

import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import { createOpenCount } from '@postern/limits'
import type { OpenStream, StreamAnswer, StreamRequest } from '@postern/message'
import { Unavailable } from '@postern/message'
import { refuseFetch } from '../address/refuse-fetch.ts'
import { attemptTimeoutMs } from '../connection/connections.ts'
import { checkResponseHead, checkStatus, maxHeaderSize } from '../connection/response-reader.ts'
import { openDeadline } from './deadline.ts'
import type { ExchangeRequest, Route, UrlGuard } from './exchange.ts'
import { toFetchError } from './exchange.ts'
import { createExchangeRequest } from './exchange-request.ts'

const defaultLimits = { timeoutMs: 10_000, idleMs: 60_000, maxBytes: 16 * 1024 * 1024 }
/** The maximum number of open streams with one host. Further streams are refused. */
const maxStreamsPerHost = 32

interface StreamDeps {
  readonly guard: UrlGuard
  /** Chooses the lookup of a route's host. */
  readonly chooseLookup: (route: Route) => LookupFunction
  readonly userAgent: string
}

/** Opens streams with the same route checks and pinned lookups as the guarded fetch, each on its own socket. */
export function createOpenStream({ guard, chooseLookup, userAgent }: StreamDeps): { open: OpenStream; close(): void } {
  const refuse = () => new Unavailable('Cannot fetch: too many streams from this host')
  const acquire = createOpenCount(maxStreamsPerHost, refuse)
  const closeController = new AbortController()

  return {
    async open(url, request = {}) {
      const route = guard(url)
      const exchangeRequest = createExchangeRequest(request, { userAgent, maxBytes: defaultLimits.maxBytes })
      const release = acquire(route.url.host)
      const signal = AbortSignal.any([closeController.signal, ...(request.signal ? [request.signal] : [])])
      try {
        const incoming = await startStream(route, exchangeRequest, { chooseLookup, signal, request })
        return toStreamAnswer(incoming, { ...defaultLimits, ...request, signal, release })
      } catch (error) {
        release()
        throw toFetchError(error)
      }
    },
    close: () => closeController.abort(),
  }
}

interface StreamStart extends Pick<StreamDeps, 'chooseLookup'> {
  readonly signal: AbortSignal
  readonly request: StreamRequest
}

/** Sends the request, and resolves when the head of the response has arrived. */
async function startStream(
  route: Route,
  exchangeRequest: ExchangeRequest,
  { chooseLookup, signal, request }: StreamStart,
): Promise<IncomingMessage> {
  const deadline = openDeadline(request.timeoutMs ?? defaultLimits.timeoutMs, signal)
  const options = toRequestOptions(route, exchangeRequest, chooseLookup(route))
  try {
    return await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = startRequest(route, options)
      const abort = () => {
        reject(deadline.signal.reason)
        outgoing.destroy()
      }
      outgoing.once('response', incoming => {
        deadline.signal.removeEventListener('abort', abort)
        resolve(incoming)
      })
      outgoing.on('error', reject)
      outgoing.once('close', () => reject(new Error('closed without an answer')))
      deadline.signal.addEventListener('abort', abort, { once: true })
      if (deadline.signal.aborted) abort()
      else outgoing.end(exchangeRequest.body)
    })
  } finally {
    deadline.clear()
  }
}

function toRequestOptions(route: Route, { method, headers }: ExchangeRequest, lookup: LookupFunction) {
  return {
    method,
    headers: { ...headers, host: route.url.host },
    host: route.host,
    port: route.port,
    path: route.url.pathname + route.url.search,
    // A stream would occupy a kept connection for its whole life.
    agent: false as const,
    lookup,
    maxHeaderSize,
    autoSelectFamilyAttemptTimeout: attemptTimeoutMs,
    rejectUnauthorized: true,
  }
}

function startRequest({ isSecure }: Route, options: RequestOptions): ClientRequest {
  return isSecure ? requestHttps(options) : requestHttp(options)
}

interface StreamReadOptions {
  readonly maxBytes: number
  readonly idleMs: number
  readonly signal: AbortSignal
  readonly release: () => void
}

function toStreamAnswer(incoming: IncomingMessage, options: StreamReadOptions): StreamAnswer {
  const silenceGuard = guardSilence(incoming, options)
  try {
    const status = checkStatus(incoming.statusCode ?? 0)
    const headers = toHeaders(incoming.rawHeaders)
    checkResponseHead(headers, options.maxBytes)
    const body = readPieces(incoming, options.maxBytes, silenceGuard)
    const returnBody = body.return.bind(body)
    // A generator whose reading has not begun runs no `finally` when its reader leaves.
    body.return = async value => {
      silenceGuard.finish()
      return returnBody(value)
    }
    return { status, headers, body }
  } catch (error) {
    silenceGuard.finish()
    throw error
  }
}

interface SilenceGuard {
  refresh(): void
  finish(): void
}

/** Ends the stream after too long a pause, when the caller aborts, and when the reader leaves. */
function guardSilence(incoming: IncomingMessage, { idleMs, signal, release }: StreamReadOptions): SilenceGuard {
  const endSilentStream = () => incoming.destroy(new Unavailable('Cannot fetch: stream went silent'))
  const endCanceledStream = () => incoming.destroy(new Unavailable('Cannot fetch: canceled', { cause: signal.reason }))
  const timer = setTimeout(endSilentStream, idleMs)
  // An error without a reader must not end the process.
  incoming.on('error', () => undefined)
  incoming.once('close', () => {
    clearTimeout(timer)
    signal.removeEventListener('abort', endCanceledStream)
    release()
  })
  signal.addEventListener('abort', endCanceledStream, { once: true })
  if (signal.aborted) endCanceledStream()
  return { refresh: () => void timer.refresh(), finish: () => void incoming.destroy() }
}

async function* readPieces(
  incoming: IncomingMessage,
  maxBytes: number,
  silenceGuard: SilenceGuard,
): AsyncGenerator<Uint8Array, void, undefined> {
  let size = 0
  try {
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      silenceGuard.refresh()
      size += chunk.length
      if (size > maxBytes) throw refuseFetch(`answer is too large: more than ${maxBytes} bytes`)
      yield chunk
    }
  } catch (error) {
    throw toFetchError(error)
  } finally {
    silenceGuard.finish()
  }
}

function toHeaders(rawHeaders: readonly string[]): Headers {
  const headers = new Headers()
  for (let index = 0; index < rawHeaders.length; index += 2)
    headers.append(rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '')
  return headers
}
