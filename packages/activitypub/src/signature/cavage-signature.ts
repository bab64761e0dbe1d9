// Reads and verifies HTTP signatures of draft-cavage-12.
import type { KeyObject } from 'node:crypto'
import { verify } from 'node:crypto'
import { Rejection } from '@postern/message'
import { checkDigest } from './body-digest.ts'
import type { RequestSignature, SignatureParameters, SignedRequest } from './request-signature.ts'
import { hasContent, readHost } from './request-signature.ts'
import { checkExpiry, checkSignedTime, readField, rejectSignature, toMs } from './signature-checks.ts'

/** Reads a draft-cavage-12 signature. @throws Rejection `unsigned`, `signature_invalid` */
export function readCavageSignature(request: SignedRequest): RequestSignature {
  const { headers } = request
  const header = headers.get('signature')
  if (!header) throw new Rejection('unsigned', 'Cannot verify activity: there is no Signature header')
  const parameters = parseSignatureHeader(header)
  checkAlgorithm(parameters)
  checkCoverage(parameters, request)
  const { keyId, coveredNames, algorithm = 'rsa-sha256', created, expires } = parameters
  return {
    scheme: 'cavage',
    keyId,
    coveredNames,
    algorithm,
    checkTimes(window) {
      if (coveredNames.includes('date')) checkSignedTime(parseHttpDate(headers.get('date')), 'Date', window)
      if (coveredNames.includes('(created)')) checkSignedTime(toMs(created), '(created)', window)
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
  if (!acceptedAlgorithms.has(algorithm)) throw rejectSignature('its algorithm is not accepted, use rsa-sha256')
}

/**
 * Checks that the signature covers the target, the host, a time and, if the request has content, its digest.
 * @throws Rejection `signature_invalid`
 */
export function checkCoverage(
  { coveredNames }: Pick<SignatureParameters, 'coveredNames'>,
  request: Pick<SignedRequest, 'method'>,
): void {
  const mandatoryComponents = hasContent(request) ? requiredContentComponents : requiredComponents
  const missingName = mandatoryComponents.find(name => !coveredNames.includes(name))
  if (missingName) throw rejectSignature(`it does not cover ${missingName}`)
  if (!coveredNames.includes('date') && !coveredNames.includes('(created)')) {
    throw rejectSignature('it covers neither date nor (created)')
  }
}

/** Builds the text that is signed (cavage-12 §2.3). @throws Rejection `signature_invalid` if a covered header or parameter is missing */
export function buildSigningString(parameters: SignatureParameters, request: SignedRequest): string {
  return parameters.coveredNames.map(name => `${name}: ${readComponent(name, parameters, request)}`).join('\n')
}

/** Returns true if `key` made this signature over this request, with or without the query in the target, because some peers omit it. */
export function isSignedBy(key: KeyObject, parameters: SignatureParameters, request: SignedRequest): boolean {
  if (verifiesSignature(key, parameters, request)) return true
  const queryIndex = request.target.indexOf('?')
  return (
    queryIndex >= 0 && verifiesSignature(key, parameters, { ...request, target: request.target.slice(0, queryIndex) })
  )
}

function verifiesSignature(key: KeyObject, parameters: SignatureParameters, request: SignedRequest): boolean {
  // This scheme uses RSA only, and node:crypto throws for a digest with an Ed25519 key.
  if (key.asymmetricKeyType !== 'rsa') return false
  return verify('sha256', Buffer.from(buildSigningString(parameters, request)), key, parameters.signature)
}

type ReadComponent = (request: SignedRequest, parameters: SignatureParameters) => string | number | undefined | null

const specialComponents: ReadonlyMap<string, ReadComponent> = new Map<string, ReadComponent>([
  ['(request-target)', ({ method, target }) => `${method.toLowerCase()} ${target}`],
  ['(created)', (_, { created, algorithm }) => (hasCavageAlgorithmName(algorithm) ? undefined : created)],
  ['(expires)', (_, { expires, algorithm }) => (hasCavageAlgorithmName(algorithm) ? undefined : expires)],
  ['host', request => readHost(request)],
])

/** Returns true if the algorithm name begins with `rsa`. With such a name, `(created)` and `(expires)` are an error (cavage-12 §2.3). */
function hasCavageAlgorithmName(algorithm: string | undefined): boolean {
  return algorithm?.startsWith('rsa') ?? false
}

function readComponent(name: string, parameters: SignatureParameters, request: SignedRequest): string | number {
  const readSpecialValue = specialComponents.get(name)
  const value = readSpecialValue ? readSpecialValue(request, parameters) : readField(request.headers, name)
  if (value === undefined || value === null) throw rejectSignature(`it covers ${name}, which is not there`)
  return value
}

const maxCoveredComponents = 32
const parameterPattern = /\s*([A-Za-z]+)\s*=\s*(?:"([^"\\]*)"|(\d+))\s*(,|$)/y

/** Parses a `Signature` header. @throws Rejection `signature_invalid` for invalid syntax, or a repeated or missing parameter */
export function parseSignatureHeader(header: string): SignatureParameters {
  const parameters = readParameters(header)
  const coveredNames = (parameters.get('headers') ?? '').toLowerCase().split(' ').filter(Boolean)
  if (coveredNames.length > maxCoveredComponents || new Set(coveredNames).size !== coveredNames.length) {
    throw refuseHeader('its header list is too long or repeats itself')
  }
  return {
    keyId: requireParameter(parameters, 'keyId'),
    signature: decodeBase64(requireParameter(parameters, 'signature')),
    coveredNames,
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
    if (!name) throw refuseHeader('it is not a list of parameters')
    // With two keyIds, a peer could be one actor to one reader and another actor to the next.
    if (parameters.has(name)) throw refuseHeader(`the parameter "${name}" is repeated`)
    parameters.set(name, quotedValue ?? bareValue ?? '')
    isLast = separator === ''
  }
  return parameters
}

function requireParameter(parameters: ReadonlyMap<string, string>, name: string): string {
  const value = parameters.get(name)
  if (!value) throw refuseHeader(`the parameter "${name}" is missing`)
  return value
}

function decodeBase64(text: string): Uint8Array {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) throw refuseHeader('its signature is not base64')
  return Buffer.from(text, 'base64')
}

function readSeconds(parameters: ReadonlyMap<string, string>, name: string): number | undefined {
  const value = parameters.get(name)
  if (value === undefined) return undefined
  if (!/^\d{1,12}$/.test(value)) throw refuseHeader(`the parameter "${name}" is not a whole number of seconds`)
  return Number(value)
}

function refuseHeader(problem: string): Rejection {
  return new Rejection('signature_invalid', `Cannot verify activity: Signature header is invalid, ${problem}`)
}

/** The pattern of HTTP dates. IMF-fixdate and its two obsolete forms all begin with the name of a day. `Date.parse` alone accepts far more. */
const httpDatePattern = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*\d{2}:\d{2}:\d{2}/

/** Parses an HTTP date (RFC 9110 §5.6.7) as ms since the epoch. Returns undefined if it is not one. */
function parseHttpDate(text: string | null): number | undefined {
  const ms = text && httpDatePattern.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}
