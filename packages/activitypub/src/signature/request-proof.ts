// Reads HTTP signatures of draft-cavage-12, and checks what both signature schemes have in common.
import type { KeyObject } from 'node:crypto'
import { hash, timingSafeEqual, verify } from 'node:crypto'
import type { Json } from '@postern/message'
import { isJsonObject, isoTime, Rejection } from '@postern/message'

/** The signature of a request, of either scheme. Its form has been checked. The other checks follow in the order of their cost. */
export interface RequestProof {
  readonly scheme: 'cavage' | 'rfc9421'
  readonly keyId: string
  /** The algorithm that the signature names. The type of the key decides which algorithm is used. */
  readonly algorithm: string | undefined
  readonly covered: readonly string[]
  /** Checks the signed times. @throws Rejection `expired`, `signature_invalid` */
  checkTimes(window: TimeWindow): void
  /** Checks the digests of the body. @throws Rejection `signature_invalid` */
  checkBody(body: Uint8Array): void
  /** Returns true if `key` made the signature. @throws Rejection when a covered component is missing */
  isMadeBy(key: KeyObject): boolean
}

/** Reads a signature of the old scheme (draft-cavage-12). @throws Rejection `unsigned`, `signature_invalid` */
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

/**
 * The accepted algorithm names. Both names mean RSASSA-PKCS1-v1_5 with SHA-256 on this network, because the key decides and the name only narrows
 * (cavage-12 §2.1).
 */
const acceptedAlgorithms: ReadonlySet<string | undefined> = new Set(['rsa-sha256', 'hs2019', undefined])

/** The components that a signature must cover, so that none of them can be replaced (SWICG report on HTTP signatures). */
const requiredComponents = ['(request-target)', 'host'] as const
const requiredContentComponents = [...requiredComponents, 'digest'] as const

/** Checks that the named algorithm is accepted. @throws Rejection `signature_invalid` */
export function checkAlgorithm({ algorithm }: SignatureParameters): void {
  if (!acceptedAlgorithms.has(algorithm)) throw invalidSignature('its algorithm is not accepted, use rsa-sha256')
}

/**
 * Checks that the signature covers the target, the host, a time and, if the request has content, its digest.
 * @throws Rejection `signature_invalid`
 */
export function checkCoverage(
  { covered }: Pick<SignatureParameters, 'covered'>,
  request: Pick<SignedRequest, 'method'>,
): void {
  const required = hasContent(request) ? requiredContentComponents : requiredComponents
  const missingName = required.find(name => !covered.includes(name))
  if (missingName) throw invalidSignature(`it does not cover ${missingName}`)
  if (!covered.includes('date') && !covered.includes('(created)')) {
    throw invalidSignature('it covers neither date nor (created)')
  }
}

/** Builds the text that is signed (cavage-12 §2.3). @throws Rejection `signature_invalid` if a covered header or parameter is missing */
export function buildSigningString(parameters: SignatureParameters, request: SignedRequest): string {
  return parameters.covered.map(name => `${name}: ${readComponent(name, parameters, request)}`).join('\n')
}

/** Returns true if `key` made this signature over this request, with or without the query in the target, because some peers omit it. */
export function isSignedBy(key: KeyObject, parameters: SignatureParameters, request: SignedRequest): boolean {
  if (isVerified(key, parameters, request)) return true
  const query = request.target.indexOf('?')
  return query >= 0 && isVerified(key, parameters, { ...request, target: request.target.slice(0, query) })
}

function isVerified(key: KeyObject, parameters: SignatureParameters, request: SignedRequest): boolean {
  // This scheme uses RSA only, and node:crypto throws for a digest with an Ed25519 key.
  if (key.asymmetricKeyType !== 'rsa') return false
  return verify('sha256', Buffer.from(buildSigningString(parameters, request)), key, parameters.signature)
}

type ReadValue = (request: SignedRequest, parameters: SignatureParameters) => string | number | undefined | null

const specialValues: ReadonlyMap<string, ReadValue> = new Map<string, ReadValue>([
  ['(request-target)', ({ method, target }) => `${method.toLowerCase()} ${target}`],
  ['(created)', (_, { created, algorithm }) => (hasCavageAlgorithmName(algorithm) ? undefined : created)],
  ['(expires)', (_, { expires, algorithm }) => (hasCavageAlgorithmName(algorithm) ? undefined : expires)],
  ['host', request => hostOf(request)],
])

/** Returns true if the algorithm name has the old form, with which `(created)` and `(expires)` are an error (cavage-12 §2.3). */
function hasCavageAlgorithmName(algorithm: string | undefined): boolean {
  return algorithm?.startsWith('rsa') ?? false
}

function readComponent(name: string, parameters: SignatureParameters, request: SignedRequest): string | number {
  const read = specialValues.get(name)
  const value = read ? read(request, parameters) : readField(request.headers, name)
  if (value === undefined || value === null) throw invalidSignature(`it covers ${name}, which is not there`)
  return value
}

/** Reads a header field that a signature covers, by its name. */
export function readField(headers: Headers, name: string): string | null {
  return /^[a-z0-9-]+$/.test(name) ? headers.get(name) : null
}

export function invalidSignature(problem: string): Rejection {
  return new Rejection('signature_invalid', `Cannot verify activity: signature is invalid, ${problem}`)
}

/** The parameters that a signature declares, in either scheme: those of a `Signature` header (draft-cavage-12 §2.1). */
export interface SignatureParameters {
  readonly keyId: string
  readonly signature: Uint8Array
  /** The names of the covered components, in lower case and in signing order. */
  readonly covered: readonly string[]
  readonly algorithm: string | undefined
  /** The time of the signature, in seconds since the epoch. Undefined if it states none. */
  readonly created: number | undefined
  readonly expires: number | undefined
}

const maxCoveredComponents = 32
const parameterPattern = /\s*([A-Za-z]+)\s*=\s*(?:"([^"\\]*)"|(\d+))\s*(,|$)/y

/** Parses a `Signature` header. @throws Rejection `signature_invalid` for invalid syntax, or a repeated or missing parameter */
export function parseSignatureHeader(header: string): SignatureParameters {
  const parameters = readParameters(header)
  const covered = (parameters.get('headers') ?? '').toLowerCase().split(' ').filter(Boolean)
  if (covered.length > maxCoveredComponents || new Set(covered).size !== covered.length) {
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
    const [, name = '', quotedValue, bareValue, separator] = parameterPattern.exec(header) ?? []
    if (!name) throw invalidHeader('it is not a list of parameters')
    // With two keyIds, a peer could be one actor to one reader and another actor to the next.
    if (parameters.has(name)) throw invalidHeader(`the parameter "${name}" is repeated`)
    parameters.set(name, quotedValue ?? bareValue ?? '')
    isLast = separator === ''
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

/**
 * The digest algorithms: names of RFC 3230 (`Digest`) and RFC 9530 (`Content-Digest`), with their names in node:crypto. Others prove nothing and
 * are ignored.
 */
export const digestAlgorithms: ReadonlyMap<string, string> = new Map([
  ['sha-256', 'sha256'],
  ['sha-512', 'sha512'],
])

/**
 * Checks every digest of the `Digest` header with a known algorithm. There must be at least one (RFC 3230 §4.3.2).
 * @throws Rejection `signature_invalid`
 */
export function checkDigest(header: string | null, body: Uint8Array): void {
  const digests = (header ?? '').split(',').map(splitDigest)
  const digestsOfBody = digests.filter(({ algorithm }) => algorithm !== undefined)
  if (digestsOfBody.length === 0) throw invalidDigest('there is no SHA-256 digest of the body')
  if (
    digestsOfBody.length > 4 ||
    !digestsOfBody.every(({ algorithm, value }) => isDigestOf(body, algorithm as string, value))
  ) {
    throw invalidDigest('the digest is not that of the body')
  }
}

/** Formats the `Digest` header of a body we send. */
export function formatDigest(body: Uint8Array | string): string {
  return `SHA-256=${hash('sha256', body, 'base64')}`
}

/** Splits an entry of the `Digest` header. Peers write the name in upper or lower case. The value is base64 and may contain `=`. */
function splitDigest(entry: string): { readonly algorithm: string | undefined; readonly value: string } {
  const [name = '', ...value] = entry.trim().split('=')
  return { algorithm: digestAlgorithms.get(name.toLowerCase()), value: value.join('=') }
}

/** Returns true if `value` (base64) is the digest of `body`. `algorithm` is a name of node:crypto. */
export function isDigestOf(body: Uint8Array, algorithm: string, value: string): boolean {
  const computedDigest = Buffer.from(hash(algorithm, body, 'base64'))
  const claimedDigest = Buffer.from(value)
  return computedDigest.length === claimedDigest.length && timingSafeEqual(computedDigest, claimedDigest)
}

export function invalidDigest(problem: string): Rejection {
  return new Rejection('signature_invalid', `Cannot verify activity: ${problem}`)
}

/** The most time by which a peer's clock may be ahead of ours, ms. */
const skewMs = 5 * 60_000
/** The pattern of HTTP dates. IMF-fixdate and its two obsolete forms all begin with the name of a day. `Date.parse` alone accepts far more. */
const httpDatePattern = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*\d{2}:\d{2}:\d{2}/

interface TimeWindow {
  readonly now: number
  readonly windowMs: number
}

/**
 * Checks that a signed time, in ms since the epoch, lies in the window.
 * @throws Rejection `expired`, or `signature_invalid` if the time could not be read
 */
export function checkSignedTime(ms: number | undefined, label: string, { now, windowMs }: TimeWindow): void {
  if (ms === undefined) {
    throw new Rejection('signature_invalid', `Cannot verify activity: ${label} is signed but cannot be read`)
  }
  if (ms < now - windowMs) {
    throw new Rejection('expired', `Cannot verify activity: signed at "${isoTime(ms)}", before the accepted window`)
  }
  if (isAhead(ms, now)) throw new Rejection('expired', 'Cannot verify activity: signed in the future')
}

/** Checks that `expires`, in seconds since the epoch, lies in the future, whether it is signed or not. @throws Rejection `expired` */
export function checkExpiry(expires: number | undefined, { now }: TimeWindow): void {
  if (expires !== undefined && expires * 1_000 <= now) {
    throw new Rejection('expired', 'Cannot verify activity: signature has expired')
  }
}

/** Returns true if a time is in the future by more than the accepted difference of clocks. */
export function isAhead(ms: number, now: number): boolean {
  return ms > now + skewMs
}

/** Parses an HTTP date (RFC 9110 §5.6.7) as ms since the epoch. Returns undefined if it is not one. */
function parseHttpDate(text: string | null): number | undefined {
  const ms = text && httpDatePattern.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

/** A request as it was received or, from the view of its origin, as it must have been sent. */
export interface SignedRequest {
  readonly method: string
  /** The path and query as on the request line. */
  readonly target: string
  /** The configured public origin. Neither `Host` nor a proxy's header is trusted. */
  readonly origin: string
  readonly headers: Headers
}

/** Returns the host, with its port if any. */
export function hostOf({ origin }: Pick<SignedRequest, 'origin'>): string {
  return origin.slice(origin.indexOf('//') + 2)
}

/** Reads a request. The target is the text of the request line, as far as the server has preserved it. */
export function toSignedRequest({ method, url, headers }: Request, origin: string): SignedRequest {
  const path = url.indexOf('/', url.indexOf('//') + 2)
  const hash = url.indexOf('#')
  const target = url.slice(path < 0 ? url.length : path, hash < 0 ? url.length : hash) || '/'
  return { method, target, origin, headers }
}

/** Returns true if a request with this method may have content, which its signature must then cover. A GET has none. */
export function hasContent({ method }: Pick<SignedRequest, 'method'>): boolean {
  return method !== 'GET' && method !== 'HEAD'
}

/** The header fields from which a signature is read, besides those that it covers. */
const recordedFields = ['signature', 'signature-input', 'digest', 'content-digest', 'date', 'content-type']
/** The header fields that are never recorded, because they contain credentials. */
const secretFields: ReadonlySet<string> = new Set(['authorization', 'proxy-authorization', 'cookie'])

/** Records the signed part of a request without its body, so that it can be verified again: its target and the relevant header fields. */
export function recordRequest({ target, headers }: SignedRequest, { covered }: Pick<RequestProof, 'covered'>): Json {
  const recordedHeaders: Record<string, string> = {}
  const record = (name: string) => {
    const value = headers.get(name)
    if (value !== null) recordedHeaders[name] = value
  }
  recordedFields.forEach(record)
  for (const component of covered) {
    const name = component.toLowerCase()
    if (/^[a-z0-9-]+$/.test(name) && !secretFields.has(name)) record(name)
  }
  return { target, headers: recordedHeaders }
}

/** Restores the request from a record. Returns undefined if the value is not such a record. */
export function restoreRequest(record: Json, body: Uint8Array, origin: string): Request | undefined {
  if (!isJsonObject(record) || typeof record.target !== 'string' || !isJsonObject(record.headers)) return undefined
  const headers = Object.entries(record.headers).map(([name, value]) => [name, String(value)] as [string, string])
  return new Request(origin + record.target, { method: 'POST', headers, body: new Uint8Array(body) })
}
