// Answers fetches of the gateway's own addresses from its own routes, without the network.
import type { FetchRequest, StreamRequest, System } from '@postern/message'
import { parseUrl, Unavailable, Undeliverable } from '@postern/message'
import type { ChannelDescriptor } from '@postern/pipeline'
import type { Hono } from 'hono'
import type { GatewaySystem } from './system.ts'

type FetchFunctions = Pick<System, 'fetch' | 'openStream'>

/** Replaces every fetch of a system with one that serves the gateway's own addresses locally. */
export function localizeFetches(system: GatewaySystem, deps: LocalFetchDeps): GatewaySystem {
  const { configured = system, configuredFor, push } = system
  return {
    ...system,
    ...openLocalFetch(system, deps),
    configured: openLocalFetch(configured, deps),
    ...(configuredFor && { configuredFor: origins => openLocalFetch(configuredFor(origins), deps) }),
    ...(push && { push: { ...push, fetch: openLocalFetch({ fetch: push.fetch }, deps).fetch } }),
  }
}

interface LocalFetchDeps {
  readonly app: Pick<Hono, 'fetch'>
  /** The origins of the gateway's own addresses. */
  readonly origins: readonly string[]
  /** The channels that have opened so far. The list grows while the gateway starts. */
  readonly channels: readonly { readonly descriptor: Pick<ChannelDescriptor, 'openPaths'> }[]
}

/** The paths of discovery. Each channel declares the paths of its calls, and the operator's paths are never fetched locally. */
const discoveryPaths = ['.well-known', 'agents', 'nodeinfo']

const defaultMaxBytes = 1024 * 1024

const defaultTimeoutMs = 10_000

/** Marks a request to the server as the gateway's own. An IP address is no such mark, because other programs may share it. */
const ownVisitMark = { isOwnVisit: true } as const

/** Returns true if a request comes from the gateway itself. No peer can set this mark. */
export function isOwnVisit(env: unknown): boolean {
  return env !== null && typeof env === 'object' && 'isOwnVisit' in env && env.isOwnVisit === true
}

/**
 * Lets the agents of one gateway call each other like strangers without leaving the process. A call passes the gateway's routes with all
 * checks, because a gateway behind a router often cannot reach itself through the network.
 */
export function openLocalFetch(
  { fetch, openStream }: FetchFunctions,
  { app, origins, channels }: LocalFetchDeps,
): FetchFunctions {
  const ownOrigins = new Set(origins)
  const isOwnUrl = (url: string) => {
    const target = parseUrl(url)
    if (target === undefined || !ownOrigins.has(target.origin)) return false
    const [, firstSegment = ''] = target.pathname.split('/')
    return (
      discoveryPaths.includes(firstSegment) ||
      channels.some(({ descriptor }) => descriptor.openPaths?.includes(firstSegment))
    )
  }
  const callApp = async (url: string, request: FetchRequest | StreamRequest): Promise<Response> => {
    const { method = 'GET', headers = {}, body } = request
    const appRequest = new Request(url, { method, headers, ...(body !== undefined && { body: body as BodyInit }) })
    const pendingResponse = Promise.resolve(app.fetch(appRequest, ownVisitMark))
    return rejectOnAbort(request.signal, pendingResponse).catch(error => {
      // The answer of a caller that has left may be a stream, which would continue without a reader.
      void pendingResponse.then(response => response.body?.cancel()).catch(() => undefined)
      throw error
    })
  }
  return {
    async fetch(url, request = {}) {
      if (!isOwnUrl(url)) return fetch(url, request)
      return withTimeout(request, async signal => {
        const { status, headers, body } = await callApp(url, { ...request, signal })
        return { status, headers, url, body: await readBody(readChunks(body, signal), request.maxBytes) }
      })
    },
    ...(openStream && {
      async openStream(url: string, request: StreamRequest = {}) {
        if (!isOwnUrl(url)) return openStream(url, request)
        const { status, headers, body } = await callApp(url, request)
        return { status, headers, body: readChunks(body, request.signal) }
      },
    }),
  }
}

/** Bounds the time until the last byte, because answers of the gateway's own routes may also never end. */
async function withTimeout<Value>(
  { timeoutMs = defaultTimeoutMs, signal }: FetchRequest,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const fetchController = new AbortController()
  const expire = () => fetchController.abort(new Unavailable('Cannot fetch: no answer in time'))
  const abort = () => fetchController.abort(signal?.reason)
  const timer = setTimeout(expire, timeoutMs)
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort, { once: true })
  try {
    return await work(fetchController.signal)
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

async function readBody(body: AsyncIterable<Uint8Array>, maxBytes = defaultMaxBytes): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes) throw new Undeliverable(`Cannot fetch: answer is too large: more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return new Uint8Array(Buffer.concat(chunks))
}

/** Rejects when the signal aborts. The work itself continues, but nothing waits for it. */
function rejectOnAbort<Value>(signal: AbortSignal | undefined, work: Promise<Value>): Promise<Value> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

async function* readChunks(
  body: ReadableStream<Uint8Array> | null,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body?.getReader()
  const abort = () => void reader?.cancel(signal?.reason).catch(() => undefined)
  signal?.addEventListener('abort', abort, { once: true })
  try {
    for (let chunk = await reader?.read(); chunk?.value; chunk = await reader?.read()) yield chunk.value
    signal?.throwIfAborted()
  } finally {
    signal?.removeEventListener('abort', abort)
    abort()
  }
}
