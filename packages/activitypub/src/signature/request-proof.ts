import type { KeyObject } from 'node:crypto'
import { hash, timingSafeEqual, verify } from 'node:crypto'
import type { Json } from '@postern/core'
import { isJsonObject, isoTime, Rejection } from '@postern/core'

/** A request's signature of either kind, its form checked; the rest is checked in the order of what it costs. */
export interface RequestProof {
  readonly scheme: 'cavage' | 'rfc9421'
  readonly keyId: string
  /** As it is named; the key decides. */
  readonly algorithm: string | undefined
  readonly covered: readonly string[]
  /** @throws Rejection `expired`, `signature_invalid` */
  checkTimes(window: TimeWindow): void
  /** @throws Rejection `signature_invalid` */
  checkBody(body: Uint8Array): void
  /** Whether `key` made it. @throws Rejection when a covered component is missing */
  isMadeBy(key: KeyObject): boolean
}

/** Reads a signature of the old kind (draft-cavage-12). @throws Rejection `unsigned`, `signature_invalid` */
export function readCavageProof(request: SignedRequest): RequestProof {
  const { headers } = request
  const header = headers.get('signature')
  if (!header) throw new Rejection('unsigned', 'Cannot verify activity: there is no Signature header')
  const parameters = parseSignatureHeader(header)
  checkAlgorithm(parameters)
  checkCoverage(parameters, request)
  const { keyId, covered, algorithm = 'rsa-sha256', created, expires } = parameters
  return {
    scheme: 'cavage',
    keyId,
    covered,
    algorithm,
    checkTimes(window) {
      if (covered.includes('date')) checkSignedTime(parseHttpDate(headers.get('date')), 'Date', window)
      if (covered.includes('(created)')) checkSignedTime(toMs(created), '(created)', window)
      checkExpiry(expires, window)
    },
    checkBody: body => checkDigest(headers.get('digest'), body),
    isMadeBy: key => isSignedBy(key, parameters, request),
  }
}

export function toMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1_000
}

/** Both mean RSASSA-PKCS1-v1_5 with SHA-256 on this network; the key decides, the name only narrows (cavage-12 §2.1). */
const acceptedAlgorithms: ReadonlySet<string | undefined> = new Set(['rsa-sha256', 'hs2019', undefined])

/** The parts that a signature must cover, so that none of them can be swapped (SWICG report on HTTP signatures). */
const requiredOfAll = ['(request-target)', 'host'] as const
const requiredOfContent = [...requiredOfAll, 'digest'] as const

/** @throws Rejection `signature_invalid` */
export function checkAlgorithm({ algorithm }: SignatureParameters): void {
  if (!acceptedAlgorithms.has(algorithm)) throw invalidSignature('its algorithm is not accepted, use rsa-sha256')
}

/** @throws Rejection `signature_invalid` unless target, host, a time and, with content, its digest are covered */
export function checkCoverage(
  { covered }: Pick<SignatureParameters, 'covered'>,
  request: Pick<SignedRequest, 'method'>,
): void {
  const required = hasContent(request) ? requiredOfContent : requiredOfAll
  const missing = required.find(name => !covered.includes(name))
  if (missing) throw invalidSignature(`it does not cover ${missing}`)
  if (!covered.includes('date') && !covered.includes('(created)')) {
    throw invalidSignature('it covers neither date nor (created)')
  }
}

/**
 * The text a signature is made over (cavage-12 §2.3).
 * @throws Rejection `signature_invalid` when a covered header or parameter is missing
 */
export function buildSigningString(parameters: SignatureParameters, request: SignedRequest): string {
  return parameters.covered.map(name => `${name}: ${componentOf(name, parameters, request)}`).join('\n')
}

/** Whether `key` made this signature over this request; some peers leave the query out of the target. */
export function isSignedBy(key: KeyObject, parameters: SignatureParameters, request: SignedRequest): boolean {
  if (isVerified(key, parameters, request)) return true
  const query = request.target.indexOf('?')
  return query >= 0 && isVerified(key, parameters, { ...request, target: request.target.slice(0, query) })
}

function isVerified(key: KeyObject, parameters: SignatureParameters, request: SignedRequest): boolean {
  // Only RSA is spoken in this scheme; node:crypto throws for a digest with an Ed25519 key.
  if (key.asymmetricKeyType !== 'rsa') return false
  return verify('sha256', Buffer.from(buildSigningString(parameters, request)), key, parameters.signature)
}

type ReadValue = (request: SignedRequest, parameters: SignatureParameters) => string | number | undefined | null

const specialValues: ReadonlyMap<string, ReadValue> = new Map<string, ReadValue>([
  ['(request-target)', ({ method, target }) => `${method.toLowerCase()} ${target}`],
  ['(created)', (_, { created, algorithm }) => (isNamedByFamily(algorithm) ? undefined : created)],
  ['(expires)', (_, { expires, algorithm }) => (isNamedByFamily(algorithm) ? undefined : expires)],
  ['host', request => hostOf(request)],
])

/** With an algorithm name of the old kind `(created)` and `(expires)` are an error (cavage-12 §2.3). */
function isNamedByFamily(algorithm: string | undefined): boolean {
  return algorithm?.startsWith('rsa') ?? false
}

function componentOf(name: string, parameters: SignatureParameters, request: SignedRequest): string | number {
  const read = specialValues.get(name)
  const value = read ? read(request, parameters) : readField(request.headers, name)
  if (value === undefined || value === null) throw invalidSignature(`it covers ${name}, which is not there`)
  return value
}

/** A field that a signature covers, by its name. */
export function readField(headers: Headers, name: string): string | null {
  return /^[a-z0-9-]+$/.test(name) ? headers.get(name) : null
}

export function invalidSignature(problem: string): Rejection {
  return new Rejection('signature_invalid', `Cannot verify activity: signature is invalid, ${problem}`)
}

/**
 * The declarations of a signature, in whichever scheme: the parameters of a `Signature` header (draft-cavage-12 §2.1).
 */
export interface SignatureParameters {
  readonly keyId: string
  readonly signature: Uint8Array
  /** Lower case, in signing order. */
  readonly covered: readonly string[]
  readonly algorithm: string | undefined
  /** Seconds since the epoch. */
  readonly created: number | undefined
  readonly expires: number | undefined
}

const maxCovered = 32
const parameterPattern = /\s*([A-Za-z]+)\s*=\s*(?:"([^"\\]*)"|(\d+))\s*(,|$)/y

/** @throws Rejection `signature_invalid`: bad syntax, a repeated parameter, or one that is missing */
export function parseSignatureHeader(header: string): SignatureParameters {
  const parameters = readParameters(header)
  const covered = (parameters.get('headers') ?? '').toLowerCase().split(' ').filter(Boolean)
  if (covered.length > maxCovered || new Set(covered).size !== covered.length) {
    throw invalidHeader('its header list is too long or repeats itself')
  }
  return {
    keyId: requireParameter(parameters, 'keyId'),
    signature: decodeBase64(requireParameter(parameters, 'signature')),
    covered,
    algorithm: parameters.get('algorithm')?.toLowerCase(),
    created: readSeconds(parameters, 'created'),
    expires: readSeconds(parameters, 'expires'),
  }
}

function readParameters(header: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>()
  parameterPattern.lastIndex = 0
  for (let isLast = false; !isLast; ) {
    const [, name = '', quoted, bare, end] = parameterPattern.exec(header) ?? []
    if (!name) throw invalidHeader('it is not a list of parameters')
    // Two keyIds would let a peer be one actor to one reader and another to the next.
    if (parameters.has(name)) throw invalidHeader(`the parameter "${name}" is repeated`)
    parameters.set(name, quoted ?? bare ?? '')
    isLast = end === ''
  }
  return parameters
}

function requireParameter(parameters: ReadonlyMap<string, string>, name: string): string {
  const value = parameters.get(name)
  if (!value) throw invalidHeader(`the parameter "${name}" is missing`)
  return value
}

function decodeBase64(text: string): Uint8Array {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) throw invalidHeader('its signature is not base64')
  return Buffer.from(text, 'base64')
}

function readSeconds(parameters: ReadonlyMap<string, string>, name: string): number | undefined {
  const value = parameters.get(name)
  if (value === undefined) return undefined
  if (!/^\d{1,12}$/.test(value)) throw invalidHeader(`the parameter "${name}" is not a whole number of seconds`)
  return Number(value)
}

function invalidHeader(problem: string): Rejection {
  return new Rejection('signature_invalid', `Cannot verify activity: Signature header is invalid, ${problem}`)
}

/** Names of RFC 3230 (`Digest`) and RFC 9530 (`Content-Digest`) → node:crypto names. Others prove nothing and are passed over. */
export const digestAlgorithms: ReadonlyMap<string, string> = new Map([
  ['sha-256', 'sha256'],
  ['sha-512', 'sha512'],
])

/**
 * Checks every digest of the `Digest` header whose algorithm we know, and that there is one (RFC 3230 §4.3.2).
 * @throws Rejection `signature_invalid`
 */
export function checkDigest(header: string | null, body: Uint8Array): void {
  const digests = (header ?? '').split(',').map(splitDigest)
  const known = digests.filter(({ algorithm }) => algorithm !== undefined)
  if (known.length === 0) throw invalidDigest('there is no SHA-256 digest of the body')
  if (known.length > 4 || !known.every(({ algorithm, value }) => isDigestOf(body, algorithm as string, value))) {
    throw invalidDigest('the digest is not that of the body')
  }
}

/** The `Digest` header of a body we send. */
export function formatDigest(body: Uint8Array | string): string {
  return `SHA-256=${hash('sha256', body, 'base64')}`
}

/** Peers write the name in either case; the value is base64 and may hold `=`. */
function splitDigest(entry: string): { readonly algorithm: string | undefined; readonly value: string } {
  const [name = '', ...value] = entry.trim().split('=')
  return { algorithm: digestAlgorithms.get(name.toLowerCase()), value: value.join('=') }
}

/** Whether `value` (base64) is the digest of `body`; `algorithm` is a name of node:crypto. */
export function isDigestOf(body: Uint8Array, algorithm: string, value: string): boolean {
  const computed = Buffer.from(hash(algorithm, body, 'base64'))
  const claimed = Buffer.from(value)
  return computed.length === claimed.length && timingSafeEqual(computed, claimed)
}

export function invalidDigest(problem: string): Rejection {
  return new Rejection('signature_invalid', `Cannot verify activity: ${problem}`)
}

/** How far a peer's clock may run ahead of ours, ms. */
const skewMs = 5 * 60_000
/** IMF-fixdate and its two obsolete forms all begin with a day's name; `Date.parse` alone accepts far more. */
const httpDatePattern = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*\d{2}:\d{2}:\d{2}/

interface TimeWindow {
  readonly now: number
  readonly windowMs: number
}

/**
 * A signed time, ms, must lie in the window.
 * @throws Rejection `expired`, or `signature_invalid` when it could not be read
 */
export function checkSignedTime(ms: number | undefined, what: string, { now, windowMs }: TimeWindow): void {
  if (ms === undefined) {
    throw new Rejection('signature_invalid', `Cannot verify activity: ${what} is signed but cannot be read`)
  }
  if (ms < now - windowMs) {
    throw new Rejection('expired', `Cannot verify activity: signed at "${isoTime(ms)}", before the accepted window`)
  }
  if (isAhead(ms, now)) throw new Rejection('expired', 'Cannot verify activity: signed in the future')
}

/** `expires`, seconds, must lie in the future, whether it is signed or not. @throws Rejection `expired` */
export function checkExpiry(expires: number | undefined, { now }: TimeWindow): void {
  if (expires !== undefined && expires * 1_000 <= now) {
    throw new Rejection('expired', 'Cannot verify activity: signature has expired')
  }
}

/** Whether a time is further in the future than clocks differ. */
export function isAhead(ms: number, now: number): boolean {
  return ms > now + skewMs
}

/** Milliseconds of an HTTP date (RFC 9110 §5.6.7), or undefined when it is none. */
function parseHttpDate(text: string | null): number | undefined {
  const ms = text && httpDatePattern.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

/** A request as we saw it or, for its origin, as it has to be. */
export interface SignedRequest {
  readonly method: string
  /** Path and query as on the request line. */
  readonly target: string
  /** The configured public origin: neither `Host` nor a proxy's header is believed. */
  readonly origin: string
  readonly headers: Headers
}

/** Host, with port if any. */
export function hostOf({ origin }: Pick<SignedRequest, 'origin'>): string {
  return origin.slice(origin.indexOf('//') + 2)
}

/** Reads a request. The target is the text of the request line, as far as the server has kept it. */
export function toSignedRequest({ method, url, headers }: Request, origin: string): SignedRequest {
  const path = url.indexOf('/', url.indexOf('//') + 2)
  const hash = url.indexOf('#')
  const target = url.slice(path < 0 ? url.length : path, hash < 0 ? url.length : hash) || '/'
  return { method, target, origin, headers }
}

/** Only a request with content can lose it; a GET has none to cover. */
export function hasContent({ method }: Pick<SignedRequest, 'method'>): boolean {
  return method !== 'GET' && method !== 'HEAD'
}

/** What a signature is read from, besides what it covers. */
const alwaysKept = ['signature', 'signature-input', 'digest', 'content-digest', 'date', 'content-type']
/** They would let in whoever reads them. */
const neverKept: ReadonlySet<string> = new Set(['authorization', 'proxy-authorization', 'cookie'])

/** The signed part of a request without its body, to verify it once more: its target and the fields that count. */
export function recordRequest({ target, headers }: SignedRequest, { covered }: Pick<RequestProof, 'covered'>): Json {
  const kept: Record<string, string> = {}
  const keep = (name: string) => {
    const value = headers.get(name)
    if (value !== null) kept[name] = value
  }
  alwaysKept.forEach(keep)
  for (const component of covered) {
    const name = component.toLowerCase()
    if (/^[a-z0-9-]+$/.test(name) && !neverKept.has(name)) keep(name)
  }
  return { target, headers: kept }
}

/** The request again. Undefined when it is no record of one. */
export function restoreRequest(record: Json, body: Uint8Array, origin: string): Request | undefined {
  if (!isJsonObject(record) || typeof record.target !== 'string' || !isJsonObject(record.headers)) return undefined
  const headers = Object.entries(record.headers).map(([name, value]) => [name, String(value)] as [string, string])
  return new Request(origin + record.target, { method: 'POST', headers, body: new Uint8Array(body) })
}
