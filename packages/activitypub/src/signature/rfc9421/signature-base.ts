import { Rejection } from '@postern/core'
import type { SignedRequest } from '../signed-request.ts'
import { hostOf } from '../signed-request.ts'

interface SignatureInput {
  /** Component names in signing order. */
  readonly covered: readonly string[]
  /** The value of `@signature-params`: the list of components and the parameters of the signature. */
  readonly parameters: string
}

/** The text a signature is made over (RFC 9421 §2.5). @throws Rejection `signature_invalid` */
export function buildSignatureBase({ covered, parameters }: SignatureInput, request: SignedRequest): string {
  const lines = covered.map(name => `"${name}": ${componentOf(name, request)}`)
  return [...lines, `"@signature-params": ${parameters}`].join('\n')
}

/** Derived components (RFC 9421 §2.2) that a request here can have. */
const derived: ReadonlyMap<string, (request: SignedRequest) => string> = new Map([
  ['@method', ({ method }) => method],
  ['@target-uri', ({ origin, target }) => origin + target],
  ['@authority', request => hostOf(request)],
  ['@scheme', ({ origin }) => origin.slice(0, origin.indexOf(':'))],
  ['@request-target', ({ target }) => target],
  ['@path', ({ target }) => splitTarget(target).path],
  ['@query', ({ target }) => splitTarget(target).query],
  ['host', request => hostOf(request)],
])

/** Without a query, `@query` is a lone question mark (RFC 9421 §2.2.7). */
function splitTarget(target: string): { readonly path: string; readonly query: string } {
  const at = target.indexOf('?')
  return at < 0 ? { path: target, query: '?' } : { path: target.slice(0, at), query: target.slice(at) }
}

function componentOf(name: string, request: SignedRequest): string {
  const value = derived.get(name)?.(request) ?? readField(request.headers, name)
  if (value !== null) return value
  const problem = `it covers ${name.slice(0, 64)}, which is not there`
  throw new Rejection('signature_invalid', `Cannot verify activity: signature is invalid, ${problem}`)
}

function readField(headers: Headers, name: string): string | null {
  return /^[a-z0-9-]+$/.test(name) ? headers.get(name) : null
}
