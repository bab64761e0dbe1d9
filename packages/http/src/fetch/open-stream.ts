// Opens long HTTP responses as streams, with limits on their size, their pauses and their number.

import type { IncomingMessage } from 'node:http'
import { createOpenCount } from '@postern/limits'
import type { OpenStream, StreamAnswer, StreamRequest } from '@postern/message'
import { Unavailable } from '@postern/message'
import { refuseFetch } from '../address/refuse-fetch.ts'
import { openDeadline } from './deadline.ts'
import type { ConnectionOptions, ExchangeRequest, Route, UrlGuard } from './exchange.ts'
import { checkResponseHead, readStatus, startRequest, toFetchError, toHeaders, toRequestOptions } from './exchange.ts'
import { createExchangeRequest } from './exchange-request.ts'

const defaultLimits = { timeoutMs: 10_000, idleMs: 60_000, maxBytes: 16 * 1024 * 1024 }
/** The maximum number of open streams with one host. Further streams are refused. */
const maxStreamsPerHost = 32

interface StreamDeps {
  readonly guard: UrlGuard
  /** Chooses the sockets that a route may use. */
  readonly choose: (route: Route) => ConnectionOptions
  readonly userAgent: string
}

/** Opens streams with the same route checks and pinned lookups as the guarded fetch, each on its own socket. */
export function createOpenStream({ guard, choose, userAgent }: StreamDeps): { open: OpenStream; close(): void } {
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
        const incoming = await startStream(route, exchangeRequest, { choose, signal, request })
        return toStreamAnswer(incoming, { ...defaultLimits, ...request, signal, release })
      } catch (error) {
        release()
        throw toFetchError(error)
      }
    },
    close: () => closeController.abort(),
  }
}

interface StreamStart extends Pick<StreamDeps, 'choose'> {
  readonly signal: AbortSignal
  readonly request: StreamRequest
}

/** Sends the request, and resolves when the head of the response has arrived. */
async function startStream(
  route: Route,
  exchangeRequest: ExchangeRequest,
  { choose, signal, request }: StreamStart,
): Promise<IncomingMessage> {
  const deadline = openDeadline(request.timeoutMs ?? defaultLimits.timeoutMs, signal)
  // A stream would occupy a pooled socket for its whole life.
  const options = { ...toRequestOptions(route, exchangeRequest, choose(route)), agent: false as const }
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

interface StreamReadOptions {
  readonly maxBytes: number
  readonly idleMs: number
  readonly signal: AbortSignal
  readonly release: () => void
}

function toStreamAnswer(incoming: IncomingMessage, options: StreamReadOptions): StreamAnswer {
  const silenceGuard = guardSilence(incoming, options)
  try {
    const status = readStatus(incoming)
    checkResponseHead(incoming, options.maxBytes)
    const body = readPieces(incoming, options.maxBytes, silenceGuard)
    const returnBody = body.return.bind(body)
    // A generator whose reading has not begun runs no `finally` when its reader leaves.
    body.return = async value => {
      silenceGuard.finish()
      return returnBody(value)
    }
    return { status, headers: toHeaders(incoming.rawHeaders), body }
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
