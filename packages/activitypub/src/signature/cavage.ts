import type { KeyObject } from 'node:crypto'
import { verify } from 'node:crypto'
import { Rejection } from '@postern/core'
import type { SignatureParameters } from './header.ts'
import type { SignedRequest } from './signed-request.ts'
import { hasContent, hostOf } from './signed-request.ts'

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
  const value = read ? read(request, parameters) : readHeader(request.headers, name)
  if (value === undefined || value === null) throw invalidSignature(`it covers ${name}, which is not there`)
  return value
}

function readHeader(headers: Headers, name: string): string | null {
  return /^[a-z0-9-]+$/.test(name) ? headers.get(name) : null
}

function invalidSignature(problem: string): Rejection {
  return new Rejection('signature_invalid', `Cannot verify activity: signature is invalid, ${problem}`)
}
