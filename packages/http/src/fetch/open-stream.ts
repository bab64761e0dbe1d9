// Opens long HTTP answers as streams, with limits on their size, their pauses and their number.
import type { IncomingMessage } from 'node:http'
import { createOpenCount } from '@postern/limits'
import type { OpenStream, StreamAnswer, StreamRequest } from '@postern/message'
import { Unavailable } from '@postern/message'
import { refuseFetch } from '../address/public-address.ts'
import { openDeadline } from './deadline.ts'
import type { ConnectionOptions, ExchangeRequest, Route, UrlGuard } from './exchange.ts'
import { checkDeclared, startRequest, toFetchError, toHeaders, toRequestOptions } from './exchange.ts'
import { planExchange } from './plan-exchange.ts'

const defaults = { timeoutMs: 10_000, idleMs: 60_000, maxBytes: 16 * 1024 * 1024 }
/** The most open streams with one host. A further one is refused. */
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
  const closing = new AbortController()

  return {
    async open(url, request = {}) {
      const route = guard(url)
      const exchange = planExchange(request, { userAgent, maxBytes: defaults.maxBytes })
      const release = acquire(route.url.host)
      const signal = AbortSignal.any([closing.signal, ...(request.signal ? [request.signal] : [])])
      try {
        const incoming = await startStream(route, exchange, { choose, signal, request })
        return toStreamAnswer(incoming, { ...defaults, ...request, signal, release })
      } catch (error) {
        release()
        throw toFetchError(error)
      }
    },
    close: () => closing.abort(),
  }
}

interface StreamStart extends Pick<StreamDeps, 'choose'> {
  readonly signal: AbortSignal
  readonly request: StreamRequest
}

/** Reads the head of the answer. */
async function startStream(
  route: Route,
  exchange: ExchangeRequest,
  { choose, signal, request }: StreamStart,
): Promise<IncomingMessage> {
  const deadline = openDeadline(request.timeoutMs ?? defaults.timeoutMs, signal)
  // A stream would occupy a pooled socket for its whole life.
  const options = { ...toRequestOptions(route, exchange, choose(route)), agent: false as const }
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
      else outgoing.end(exchange.body)
    })
  } finally {
    deadline.clear()
  }
}

interface StreamReading {
  readonly maxBytes: number
  readonly idleMs: number
  readonly signal: AbortSignal
  readonly release: () => void
}

function toStreamAnswer(incoming: IncomingMessage, reading: StreamReading): StreamAnswer {
  const status = incoming.statusCode ?? 0
  const silenceGuard = guardSilence(incoming, reading)
  try {
    if (status < 200 || status > 599) throw new Unavailable('Cannot fetch: answer has no valid status')
    checkDeclared(incoming, reading.maxBytes)
  } catch (error) {
    silenceGuard.finish()
    throw error
  }
  const body = readPieces(incoming, reading.maxBytes, silenceGuard)
  const returnBody = body.return.bind(body)
  // A generator whose reading has not begun runs no `finally` when its reader leaves.
  body.return = async value => {
    silenceGuard.finish()
    return returnBody(value)
  }
  return { status, headers: toHeaders(incoming.rawHeaders), body }
}

interface SilenceGuard {
  refresh(): void
  finish(): void
}

/** Ends the stream after too long a pause, when the caller aborts, and when the reader leaves. */
function guardSilence(incoming: IncomingMessage, { idleMs, signal, release }: StreamReading): SilenceGuard {
  const silence = () => incoming.destroy(new Unavailable('Cannot fetch: stream went silent'))
  const cancel = () => incoming.destroy(new Unavailable('Cannot fetch: canceled', { cause: signal.reason }))
  const timer = setTimeout(silence, idleMs)
  // An error without a reader must not end the process.
  incoming.on('error', () => undefined)
  incoming.once('close', () => {
    clearTimeout(timer)
    signal.removeEventListener('abort', cancel)
    release()
  })
  signal.addEventListener('abort', cancel, { once: true })
  if (signal.aborted) cancel()
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
