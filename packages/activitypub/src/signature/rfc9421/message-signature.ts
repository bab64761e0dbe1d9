// Reads and verifies HTTP message signatures (RFC 9421).
import type { KeyObject } from 'node:crypto'
import { hash, verify } from 'node:crypto'
import type { HeaderFields } from '@postern/http'
import { digestAlgorithms, isDigestOf, refuseDigest } from '../body-digest.ts'
import type { RequestSignature, SignatureParameters, SignedRequest } from '../request-signature.ts'
import { hasContent, readHost } from '../request-signature.ts'
import { checkExpiry, checkSignedTime, readField, rejectSignature, toMs } from '../signature-checks.ts'
import type { FieldParameters, InnerList } from './structured-field.ts'
import { formatInnerList, parseByteSequences, parseInnerLists } from './structured-field.ts'

/** The one signature of a request (RFC 9421), read but not verified. */
interface MessageSignature extends SignatureParameters {
  /** The value of `@signature-params`. */
  readonly parameters: string
}

/** Reads the signature of a request. @throws Rejection `signature_invalid` */
export function readMessageSignature(request: SignedRequest): RequestSignature {
  const signature = parseMessageSignature(request.headers)
  checkMessageCoverage(signature, request)
  const { keyId, coveredNames, algorithm, created, expires } = signature
  return {
    scheme: 'rfc9421',
    keyId,
    coveredNames,
    algorithm,
    checkTimes(window) {
      checkSignedTime(toMs(created), '"created"', window)
      checkExpiry(expires, window)
    },
    checkBody: body => checkContentDigest(request.headers.get('content-digest'), body),
    isMadeBy: key => isMessageSignedBy(key, signature, request),
  }
}

const maxCoveredComponents = 32

/** The type of each known parameter (RFC 9421 §2.3). All others are unknown. */
const parameterKinds: ReadonlyMap<string, 'string' | 'number'> = new Map([
  ['created', 'number'],
  ['expires', 'number'],
  ['keyid', 'string'],
  ['alg', 'string'],
  ['nonce', 'string'],
  ['tag', 'string'],
])

/** The algorithm and its digest in node:crypto for each type of key. The key decides, and `alg` may only agree. */
const algorithmsByKeyType: ReadonlyMap<string | undefined, { readonly name: string; readonly digest: string | null }> =
  new Map([
    ['rsa', { name: 'rsa-v1_5-sha256', digest: 'sha256' }],
    ['ed25519', { name: 'ed25519', digest: null }],
  ])
const acceptedAlgorithms: ReadonlySet<string | undefined> = new Set([
  undefined,
  ...[...algorithmsByKeyType.values()].map(({ name }) => name),
])

/**
 * Reads `Signature-Input` and `Signature`. It accepts exactly one signature, because with several, two readers might trust different ones.
 * @throws Rejection `signature_invalid` for invalid syntax, or an unknown or missing parameter
 */
export function parseMessageSignature(headers: HeaderFields): MessageSignature {
  const inputs = parseInnerLists(headers.get('signature-input') ?? '', 'Signature-Input')
  const signatures = parseByteSequences(headers.get('signature') ?? '', 'Signature')
  const [label = '', ...otherLabels] = inputs.keys()
  const signature = signatures.get(label)
  const input = inputs.get(label)
  if (!input || !signature || otherLabels.length > 0 || signatures.size > 1) {
    throw rejectSignature('there is not exactly one, labelled alike in Signature-Input and Signature')
  }
  checkParameters(input.parameters)
  return {
    keyId: String(input.parameters.get('keyid') ?? ''),
    signature,
    coveredNames: readCoveredComponents(input),
    algorithm: readString(input.parameters, 'alg'),
    created: readSeconds(input.parameters, 'created'),
    expires: readSeconds(input.parameters, 'expires'),
    parameters: formatInnerList(input),
  }
}

function checkParameters(parameters: FieldParameters): void {
  for (const [name, value] of parameters) {
    const kind = parameterKinds.get(name)
    if (!kind) throw rejectSignature(`the parameter "${name}" is not known`)
    if (typeof value !== kind) throw rejectSignature(`the parameter "${name}" is not a ${kind}`)
  }
  if (!parameters.get('keyid')) throw rejectSignature('the parameter "keyid" is missing')
  if (!parameters.has('created')) throw rejectSignature('the parameter "created" is missing')
  if (!acceptedAlgorithms.has(readString(parameters, 'alg'))) {
    throw rejectSignature('its algorithm is not accepted, use rsa-v1_5-sha256 or ed25519')
  }
}

function readCoveredComponents({ items }: InnerList): readonly string[] {
  const coveredNames = items.map(({ value, parameters }) => {
    if (parameters.size > 0) throw rejectSignature('it covers a component with parameters')
    return value
  })
  if (coveredNames.length > maxCoveredComponents || new Set(coveredNames).size !== coveredNames.length) {
    throw rejectSignature('its list of components is too long or repeats itself')
  }
  return coveredNames
}

function readString(parameters: FieldParameters, name: string): string | undefined {
  const value = parameters.get(name)
  return typeof value === 'string' ? value : undefined
}

/** Reads a parameter in seconds since the epoch. A value that no clock can show is rejected. */
function readSeconds(parameters: FieldParameters, name: string): number | undefined {
  const value = parameters.get(name)
  if (value === undefined) return undefined
  if (typeof value !== 'number' || value < 0 || value >= 1e12) {
    throw rejectSignature(`the parameter "${name}" is not a time in seconds`)
  }
  return value
}

/**
 * Checks that the method, the whole target and the content are covered, so that no part of the request can be replaced.
 * @throws Rejection `signature_invalid`
 */
export function checkMessageCoverage({ coveredNames }: MessageSignature, request: SignedRequest): void {
  const targetComponents = ['@authority', '@path', ...(request.target.includes('?') ? ['@query'] : [])]
  const requiredTargetComponents = coveredNames.includes('@target-uri') ? [] : targetComponents
  const requiredComponents = [
    '@method',
    ...requiredTargetComponents,
    ...(hasContent(request) ? ['content-digest'] : []),
  ]
  const missingName = requiredComponents.find(name => !coveredNames.includes(name))
  if (!missingName) return
  throw rejectSignature(`it does not cover ${targetComponents.includes(missingName) ? '@target-uri' : missingName}`)
}

/** Returns true if `key` made this signature over this request. @throws Rejection when a covered component is missing */
export function isMessageSignedBy(key: KeyObject, signature: MessageSignature, request: SignedRequest): boolean {
  const algorithm = algorithmsByKeyType.get(key.asymmetricKeyType)
  if (!algorithm || (signature.algorithm ?? algorithm.name) !== algorithm.name) return false
  const base = Buffer.from(buildSignatureBase(signature, request))
  return verify(algorithm.digest, base, key, signature.signature)
}

interface SignatureInput {
  /** The names of the components, in signing order. */
  readonly coveredNames: readonly string[]
  /** The value of `@signature-params`: the list of components and the parameters of the signature. */
  readonly parameters: string
}

/** Builds the text that is signed (RFC 9421 §2.5). @throws Rejection `signature_invalid` */
export function buildSignatureBase({ coveredNames, parameters }: SignatureInput, request: SignedRequest): string {
  const lines = coveredNames.map(name => `"${name}": ${readMessageComponent(name, request)}`)
  return [...lines, `"@signature-params": ${parameters}`].join('\n')
}

/** The derived components (RFC 9421 §2.2) that a request here can have. */
const derivedComponents: ReadonlyMap<string, (request: SignedRequest) => string> = new Map([
  ['@method', ({ method }) => method],
  ['@target-uri', ({ origin, target }) => origin + target],
  ['@authority', request => readHost(request)],
  ['@scheme', ({ origin }) => origin.slice(0, origin.indexOf(':'))],
  ['@request-target', ({ target }) => target],
  ['@path', ({ target }) => splitTarget(target).path],
  ['@query', ({ target }) => splitTarget(target).query],
  ['host', request => readHost(request)],
])

/** Splits a target into its path and query. Without a query, `@query` is a single question mark (RFC 9421 §2.2.7). */
function splitTarget(target: string): { readonly path: string; readonly query: string } {
  const queryIndex = target.indexOf('?')
  return queryIndex < 0
    ? { path: target, query: '?' }
    : { path: target.slice(0, queryIndex), query: target.slice(queryIndex) }
}

function readMessageComponent(name: string, request: SignedRequest): string {
  const value = derivedComponents.get(name)?.(request) ?? readField(request.headers, name)
  if (value !== null) return value
  throw rejectSignature(`it covers ${name.slice(0, 64)}, which is not there`)
}

/**
 * Checks every digest of the `Content-Digest` header with a known algorithm. There must be at least one (RFC 9530 §2).
 * @throws Rejection `signature_invalid`
 */
export function checkContentDigest(header: string | null, body: Uint8Array): void {
  const knownDigests = [...parseByteSequences(header ?? '', 'Content-Digest')].flatMap(([name, value]) => {
    const algorithm = digestAlgorithms.get(name)
    return algorithm ? [{ algorithm, value }] : []
  })
  if (knownDigests.length === 0) throw refuseDigest('there is no sha-256 or sha-512 digest of the content')
  if (
    !knownDigests.every(({ algorithm, value }) => isDigestOf(body, algorithm, Buffer.from(value).toString('base64')))
  ) {
    throw refuseDigest('the digest is not that of the content')
  }
}

/** Formats the `Content-Digest` header of a body we send. */
export function formatContentDigest(body: Uint8Array): string {
  return `sha-256=:${hash('sha256', body, 'base64')}:`
}
