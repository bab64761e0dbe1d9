import { randomBytes } from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import { writeSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type {
  Channel,
  DnsResolver,
  FetchAnswer,
  FetchRequest,
  GuardedFetch,
  Json,
  Log,
  OpenStream,
  Platform,
  ReplayStore,
  StreamRequest,
  SubmitMail,
} from '@postern/core'
import { parseUrl, Unavailable, Undeliverable } from '@postern/core'
import { checkFetchUrl, createGuardedFetch } from '@postern/http'
import type { Hono } from 'hono'
import type { ChannelSlice } from '../config/channel-slices.ts'
import type { Config } from '../config/schema.ts'
import type { ShownDocument } from './lookup-record.ts'
import { describeAnswer, describeFetchFailure, findShown } from './lookup-record.ts'
import { softwareVersion } from './version.ts'

export interface GatewayPlatform extends Platform {
  /** A guarded fetch that may also reach this one origin: for what the operator configured (a webhook agent, a model). */
  fetchFor(origin: string): GuardedFetch & { readonly openStream: OpenStream }
  close(): void
}

/** Everything outside, for real. */
export function createPlatform(
  config: Pick<Config, 'origin' | 'network'>,
  { log, slices }: { readonly log: Log; readonly slices: readonly ChannelSlice[] },
): GatewayPlatform {
  const { allow_private, loopback, dns } = config.network
  const userAgent = `Postern/${softwareVersion} (+${config.origin}/)`
  const opened: { close(): void }[] = []
  const openFetch = (allowPrivate: readonly string[]) => {
    const fetch = createGuardedFetch({ allowPrivate, loopback, userAgent, now: Date.now })
    opened.push(fetch)
    return fetch
  }
  const fetch = openFetch(allow_private)
  const [submitter] = slices.flatMap(({ module, config: own }) => module.openMail?.(own, log) ?? [])
  if (submitter) opened.push(submitter)
  return {
    fetch,
    checkUrl: url => checkFetchUrl(url, { allowPrivate: allow_private, loopback }),
    openStream: fetch.openStream,
    fetchFor: origin => openFetch([...allow_private, origin]),
    resolveDns: createResolver(dns),
    submitMail: submitter ?? refuseToSubmit,
    now: Date.now,
    randomBytes: createRandomPool(),
    sleep,
    log,
    close: () => {
      for (const { close } of opened) close()
    },
  }
}

function createResolver(servers: readonly string[] | undefined): DnsResolver {
  const resolver = new Resolver({ timeout: 5_000, tries: 2 })
  if (servers && servers.length > 0) resolver.setServers(servers)
  return (name, type) => resolver.resolve(name, type)
}

const silence = () => undefined

export const noLog: Log = { debug: silence, info: silence, warn: silence, error: silence }

const refuseToSubmit: SubmitMail = async () => {
  throw new Unavailable('no mail server is configured to send by')
}

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, signal && { signal })
  } catch {
    // Aborted: the wait is over early, which is all the caller asked for.
  }
}

const poolBytes = 4_096
/** What is larger is made for itself. */
const mostPooled = 64

/**
 * Random bytes from the operating system's generator, fetched many at a time: ids take 16 bytes each, and asking for them costs
 * more than they do. What was handed out is wiped from the pool.
 */
export function createRandomPool(fill: (count: number) => Uint8Array = randomBytes): (count: number) => Uint8Array {
  let pool: Uint8Array = new Uint8Array()
  let at = 0
  return count => {
    if (count > mostPooled) return fill(count)
    if (at + count > pool.length) {
      pool = fill(poolBytes)
      at = 0
    }
    // A copy: `slice` of a Buffer is none.
    const taken = new Uint8Array(pool.subarray(at, at + count))
    pool.fill(0, at, at + count)
    at += count
    return taken
  }
}

type WaysOut = Pick<Platform, 'fetch' | 'openStream'>

interface OwnDeps {
  readonly app: Pick<Hono, 'fetch'>
  /** Which addresses are ours. */
  readonly origins: readonly string[]
  /** Filled while they are opened. */
  readonly channels: readonly Pick<Channel, 'openPaths'>[]
}

/** Where agents are found; channels say where they are called. What is the operator's is none of it. */
const discoveryPaths = ['.well-known', 'agents', 'nodeinfo']
const defaultMaxBytes = 1024 * 1024
const defaultTimeoutMs = 10_000

/** What the server is told of who comes: no address of the network, which others may share. */
const ownVisit = { isOwnVisit: true } as const

/** Whether it is one of our own agents, by what the server was told. No peer can write that. */
export function isOwnVisit(env: unknown): boolean {
  return env !== null && typeof env === 'object' && 'isOwnVisit' in env && env.isOwnVisit === true
}

/**
 * Lets agents of one gateway call each other like strangers, but without leaving it: through its routes with all their checks, not
 * through the network, where a gateway behind a router often cannot find itself.
 */
export function openLocalFetch({ fetch, openStream }: WaysOut, { app, origins, channels }: OwnDeps): WaysOut {
  const ours = new Set(origins)
  const isOurs = (url: string) => {
    const target = parseUrl(url)
    if (target === undefined || !ours.has(target.origin)) return false
    const [, first = ''] = target.pathname.split('/')
    return discoveryPaths.includes(first) || channels.some(({ openPaths }) => openPaths?.includes(first))
  }
  const call = async (url: string, request: FetchRequest | StreamRequest): Promise<Response> => {
    const { method = 'GET', headers = {}, body } = request
    const sent = new Request(url, { method, headers, ...(body !== undefined && { body: body as BodyInit }) })
    const answer = Promise.resolve(app.fetch(sent, ownVisit))
    return endWith(request.signal, answer).catch(error => {
      // What comes when nobody waits any more may be a stream, which would go on.
      void answer.then(late => late.body?.cancel()).catch(() => undefined)
      throw error
    })
  }
  return {
    async fetch(url, request = {}) {
      if (!isOurs(url)) return fetch(url, request)
      return withinTime(request, async signal => {
        const { status, headers, body } = await call(url, { ...request, signal })
        return { status, headers, url, body: await readAll(readPieces(body, signal), request.maxBytes) }
      })
    },
    ...(openStream && {
      async openStream(url: string, request: StreamRequest = {}) {
        if (!isOurs(url)) return openStream(url, request)
        const { status, headers, body } = await call(url, request)
        return { status, headers, body: readPieces(body, request.signal) }
      },
    }),
  }
}

/** From the first byte to the last: our own routes may have an answer without end, too. */
async function withinTime<Value>(
  { timeoutMs = defaultTimeoutMs, signal }: FetchRequest,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const over = new AbortController()
  const expire = () => over.abort(new Unavailable('Cannot fetch: no answer in time'))
  const leave = () => over.abort(signal?.reason)
  const timer = setTimeout(expire, timeoutMs)
  if (signal?.aborted) leave()
  signal?.addEventListener('abort', leave, { once: true })
  try {
    return await work(over.signal)
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', leave)
  }
}

async function readAll(pieces: AsyncIterable<Uint8Array>, maxBytes = defaultMaxBytes): Promise<Uint8Array> {
  const read: Uint8Array[] = []
  let size = 0
  for await (const piece of pieces) {
    size += piece.length
    if (size > maxBytes) throw new Undeliverable('Cannot fetch: answer is too large')
    read.push(piece)
  }
  return new Uint8Array(Buffer.concat(read))
}

/** The work itself goes on; nobody waits for it any more. */
function endWith<Value>(signal: AbortSignal | undefined, work: Promise<Value>): Promise<Value> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

async function* readPieces(
  body: ReadableStream<Uint8Array> | null,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body?.getReader()
  const abort = () => void reader?.cancel(signal?.reason).catch(() => undefined)
  signal?.addEventListener('abort', abort, { once: true })
  try {
    for (let piece = await reader?.read(); piece?.value; piece = await reader?.read()) yield piece.value
    signal?.throwIfAborted()
  } finally {
    signal?.removeEventListener('abort', abort)
    abort()
  }
}

export type LookupPlatform = Pick<Platform, 'fetch' | 'resolveDns'>

type NoteLookup = Pick<ReplayStore, 'noteLookup'>

/** Notes what is read of other hosts and of DNS, so that a message can be read again as the moment was then. */
export function noteLookups<Outer extends LookupPlatform & Pick<Platform, 'now'>>(
  platform: Outer,
  store: NoteLookup,
): Outer {
  const { fetch, resolveDns, now } = platform
  const note = (key: string, answer: Json | undefined, shown: ShownDocument = {}) => {
    if (answer !== undefined) store.noteLookup({ key, at: now(), answer, ...shown })
  }
  async function notedFetch(key: string, url: string, request: FetchRequest | undefined): Promise<FetchAnswer> {
    try {
      const answer = await fetch(url, request)
      note(key, describeAnswer(answer), findShown(answer))
      return answer
    } catch (error) {
      note(key, describeFetchFailure(error))
      throw error
    }
  }

  return {
    ...platform,
    // No promise of its own: deliveries pass here, too.
    fetch: (url, request) => {
      const key = nameFetch(url, request)
      return key === undefined ? fetch(url, request) : notedFetch(key, url, request)
    },
    resolveDns: async (name, type) => {
      const key = nameQuestion(name, type)
      try {
        const records = await resolveDns(name, type)
        note(key, { records: records as Json })
        return records
      } catch (error) {
        note(key, describeDnsFailure(error))
        throw error
      }
    },
  }
}

/** Undefined for a request that changes something, or that shows a credential: its answer is for who holds it. */
export function nameFetch(url: string, { method = 'GET', headers = {} }: FetchRequest = {}): string | undefined {
  const fields = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  if (method !== 'GET' || 'authorization' in fields || 'cookie' in fields) return undefined
  return `GET ${fields.accept ?? '*/*'} ${url}`
}

export function nameQuestion(name: string, type: string): string {
  return `DNS ${type.toUpperCase()} ${name.toLowerCase()}`
}

function describeDnsFailure(error: unknown): Json | undefined {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  return typeof code === 'string' ? { code, message: String(message) } : undefined
}

const flushAt = 8_192

const flushAfterMs = 250

/** Kept while the reader does not take more; what exceeds it is lost rather than the gateway stopped. */
const keptAtMost = 1_048_576

/**
 * Lines leave in company, a quarter of a second late at most; what is left goes out when the process ends. A reader that
 * has gone away never holds the process up.
 */
export function createLogOutput(descriptor: number, write: typeof writeSync = writeSync) {
  let waiting = ''
  let timer: NodeJS.Timeout | undefined

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    const octets = Buffer.from(waiting)
    try {
      const written = write(descriptor, octets)
      waiting = octets.subarray(written).toString()
    } catch (error) {
      const isFull = (error as NodeJS.ErrnoException).code === 'EAGAIN' && waiting.length < keptAtMost
      if (!isFull) waiting = ''
    }
  }

  process.once('exit', flush)
  return {
    write(line: string): void {
      waiting += line
      if (waiting.length >= flushAt) flush()
      else timer ??= setTimeout(flush, flushAfterMs).unref()
    },
  }
}
