// Reads and verifies HTTP signatures of draft-cavage-12.
import type { KeyObject } from 'node:crypto'
import { verify } from 'node:crypto'
import { Rejection } from '@postern/message'
import { checkDigest } from './body-digest.ts'
import type { RequestSignature, SignatureParameters, SignedRequest } from './request-signature.ts'
import { hasContent, hostOf } from './request-signature.ts'
import { checkExpiry, checkSignedTime, invalidSignature, readField, toMs } from './signature-checks.ts'

/** Reads a signature of the old scheme (draft-cavage-12). @throws Rejection `unsigned`, `signature_invalid` */
export function readCavageSignature(request: SignedRequest): RequestSignature {
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

/**
 * The accepted algorithm names. Both names mean RSASSA-PKCS1-v1_5 with SHA-256 on this network, because the type of the key selects the algorithm
 * and the name may only confirm it (cavage-12 §2.1).
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
  const mandatoryComponents = hasContent(request) ? requiredContentComponents : requiredComponents
  const missingName = mandatoryComponents.find(name => !covered.includes(name))
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
  const queryIndex = request.target.indexOf('?')
  return queryIndex >= 0 && isVerified(key, parameters, { ...request, target: request.target.slice(0, queryIndex) })
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
  const readSpecialValue = specialValues.get(name)
  const value = readSpecialValue ? readSpecialValue(request, parameters) : readField(request.headers, name)
  if (value === undefined || value === null) throw invalidSignature(`it covers ${name}, which is not there`)
  return value
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

/** The pattern of HTTP dates. IMF-fixdate and its two obsolete forms all begin with the name of a day. `Date.parse` alone accepts far more. */
const httpDatePattern = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*\d{2}:\d{2}:\d{2}/

/** Parses an HTTP date (RFC 9110 §5.6.7) as ms since the epoch. Returns undefined if it is not one. */
function parseHttpDate(text: string | null): number | undefined {
  const ms = text && httpDatePattern.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}
