import { Rejection } from '@postern/core'

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
