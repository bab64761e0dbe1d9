import type { ClientRequest, Agent as HttpAgent, IncomingMessage, RequestOptions } from 'node:http'
import { request as requestHttp, STATUS_CODES } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import type { DeliveryReply, FetchAnswer, FetchRequest } from '@postern/core'
import { Unavailable, Undeliverable } from '@postern/core'
import { refuseFetch } from '../address/public-address.ts'
import { joinBytes } from '../request.ts'

/** A checked URL with its route. */
export interface Route {
  readonly url: URL
  /** Whether the operator opened its origin, so that its addresses need not be public. */
  readonly isOpened: boolean
  readonly secure: boolean
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

interface AnswerOptions {
  readonly url: string
  /** False after HEAD: the headers describe a body that does not come. */
  readonly hasBody: boolean
  readonly maxBytes: number
}

/** Reads an answer to its end. @throws Undeliverable when it exceeds a limit, Unavailable when it is cut short */
async function readFetchAnswer(incoming: IncomingMessage, options: AnswerOptions): Promise<FetchAnswer> {
  const { url, hasBody, maxBytes } = options
  const status = incoming.statusCode ?? 0
  if (status < 200 || status > 599) throw new Unavailable('Cannot fetch: answer has no valid status')
  if (hasBody) checkDeclared(incoming, maxBytes)
  const body = await collectBody(incoming, maxBytes)
  return { status, headers: toHeaders(incoming.rawHeaders), url, body }
}

/** @throws Undeliverable when the answer's headers exceed a limit */
export function checkDeclared({ headers }: IncomingMessage, maxBytes: number): void {
  const coding = headers['content-encoding'] ?? 'identity'
  const transfer = headers['transfer-encoding'] ?? 'chunked'
  if (coding.trim().toLowerCase() !== 'identity' || transfer.trim().toLowerCase() !== 'chunked') {
    throw refuseFetch('answer is encoded although identity was asked for')
  }
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw refuseFetch('answer is too large')
}

function collectBody(incoming: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    let size = 0
    incoming.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBytes) reject(refuseFetch('answer is too large'))
      else chunks.push(chunk)
    })
    incoming.once('end', () => resolve(joinBytes(chunks, size)))
    incoming.once('error', cause => reject(new Unavailable('Cannot fetch: answer was cut short', { cause })))
  })
}

export function toHeaders(raw: readonly string[]): Headers {
  const headers = new Headers()
  for (let at = 0; at < raw.length; at += 2) headers.append(raw[at] ?? '', raw[at + 1] ?? '')
  return headers
}

const certificateProblem = /CERT|SELF_SIGNED|UNABLE_TO_/

/** The gateway's description of a network error. */
export function toFetchError(error: unknown): Error {
  if (error instanceof Undeliverable || error instanceof Unavailable) return error
  const { code = '' } = error as NodeJS.ErrnoException
  if (code === 'HPE_HEADER_OVERFLOW') return refuseFetch('answer headers are too large', { cause: error })
  return new Unavailable(`Cannot fetch: ${describeCode(code)}`, { cause: error })
}

function describeCode(code: string): string {
  if (certificateProblem.test(code)) return 'certificate is not valid'
  if (code.startsWith('HPE_')) return 'answer is not HTTP'
  return 'connection failed'
}

/** Headers that the exchange sets itself. A caller's values are left out. Nobody sends cookies. */
const ownHeaders = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'cookie',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Headers that may follow a redirect to another origin: no credentials. */
const portableHeaders = new Set(['accept', 'accept-encoding', 'accept-language', 'user-agent'])

const fieldName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * The header fields to send, names in lower case, with our own added. @throws Undeliverable for a name or value that would break its line
 * (RFC 9110 §5.5)
 */
function readFetchHeaders(
  given: Readonly<Record<string, string>>,
  { userAgent, length }: { readonly userAgent: string; readonly length: number | undefined },
): Record<string, string> {
  const headers: Record<string, string> = { 'user-agent': userAgent, 'accept-encoding': 'identity' }
  for (const [name, value] of Object.entries(given)) {
    const key = name.toLowerCase()
    if (!fieldName.test(key) || !fieldValue.test(value))
      throw refuseFetch('header holds characters that do not belong there')
    if (!ownHeaders.has(key)) headers[key] = value
  }
  if (length !== undefined) headers['content-length'] = String(length)
  return headers
}

export const changingMethods: ReadonlySet<string> = new Set(['POST', 'PUT', 'DELETE'])

/** `maxBytes`: where the request says nothing. @throws Undeliverable as `readFetchHeaders` does */
export function planExchange(
  { method = 'GET', headers = {}, body, maxBytes }: FetchRequest,
  usual: { readonly userAgent: string; readonly maxBytes: number },
): ExchangeRequest {
  const length = changingMethods.has(method) || body !== undefined ? Buffer.byteLength(body ?? '') : undefined
  const sent = readFetchHeaders(headers, { userAgent: usual.userAgent, length })
  return { method, headers: sent, body, maxBytes: maxBytes ?? usual.maxBytes }
}

/** Leaves out Authorization, Signature and all other headers for one origin. */
export function keepPortableHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => portableHeaders.has(name)))
}

interface Deadline {
  /** Aborts with an `Unavailable` when the time is over or the caller gives up. */
  readonly signal: AbortSignal
  clear(): void
}

/** The maximum of a timer. Larger values would fire at once. */
const maxTimerMs = 2 ** 31 - 1

/** One deadline for the whole exchange: queue, lookup, connect, redirects and the last byte. */
export function openDeadline(timeoutMs: number, caller: AbortSignal | undefined): Deadline {
  const controller = new AbortController()
  const cancel = () => controller.abort(new Unavailable('Cannot fetch: canceled', { cause: caller?.reason }))
  const expire = () => controller.abort(new Unavailable('Cannot fetch: no answer in time'))
  const timer = setTimeout(expire, Math.min(timeoutMs, maxTimerMs))
  if (caller?.aborted) cancel()
  else caller?.addEventListener('abort', cancel, { once: true })
  return {
    signal: controller.signal,
    clear() {
      clearTimeout(timer)
      caller?.removeEventListener('abort', cancel)
    },
  }
}

/** As much of an answer is looked at, bytes. */
const replyBytes = 1_024
const maxReplyChars = 200

/**
 * How a peer answered an attempt to deliver: the status, and the first line of its words. `secrets`: what was sent along to prove us; a peer
 * that shows the request in its answer must not put them into the record.
 */
export function readReply(
  { status, body }: Pick<FetchAnswer, 'status' | 'body'>,
  secrets: readonly (string | undefined)[] = [],
): DeliveryReply {
  const text = Buffer.from(body.subarray(0, replyBytes)).toString()
  const known = secrets.filter(secret => secret !== undefined && secret !== '') as readonly string[]
  const [line = ''] = text.trimStart().split(/[\r\n]/, 1)
  // One that begins where the look ends would not be found whole.
  const isShown = known.every(secret => !line.includes(secret.slice(0, 8)))
  const words = isShown
    ? line
        .replace(/\p{Cc}/gu, ' ')
        .slice(0, maxReplyChars)
        .toWellFormed()
        .trim()
    : '[shows a secret]'
  const reply_line = [status, STATUS_CODES[status], words && `· ${words}`].filter(Boolean).join(' ')
  return { status, reply_line }
}

/** Nothing waits longer than this. */
const mostSeconds = 7 * 86_400

/**
 * The seconds in a `Retry-After` header, from a number or a date (RFC 9110 §10.2.3), a week at most; undefined when it is invalid. `now` in
 * milliseconds.
 */
export function parseRetryAfter(header: string | null, now: number): number | undefined {
  if (!header) return undefined
  if (/^\s*\d{1,9}\s*$/.test(header)) return Math.min(Number(header), mostSeconds)
  // `Date.parse` accepts nearly anything. An HTTP-date begins with the name of a day.
  const date = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(header) ? Date.parse(header) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.min(Math.max(0, Math.ceil((date - now) / 1_000)), mostSeconds)
}
