import { Rejection } from '@postern/core'

/** The credential of a request as it came: exactly one, or none. */
export type Credential =
  | { readonly kind: 'none' }
  | { readonly kind: 'api_key'; readonly key: string }
  | { readonly kind: 'token'; readonly token: string; readonly proof: string | undefined }

const maxHeader = 8 * 1024
/** Node joins two headers with a comma, which neither a token nor a proof contains. */
const jwt = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/
const bearer = /^bearer +(\S+)$/i
const dpop = /^dpop +(\S+)$/i

/**
 * Reads the one credential of a request (RFC 6750 §2.1, RFC 9449 §7.1). Schemes may have any case (RFC 9110 §11.1). A token in the query is
 * ignored. Without configured API keys `apiKeyHeader` is undefined, and the header may serve other programs. @throws Rejection
 * `signature_invalid`
 */
export function readCredential(headers: Headers, apiKeyHeader: string | undefined): Credential {
  const authorization = headers.get('authorization')
  const key = apiKeyHeader === undefined ? null : headers.get(apiKeyHeader)
  if (key !== null) return readApiKey(key, authorization)
  if (authorization === null) return { kind: 'none' }
  const proof = headers.get('dpop')
  return proof === null ? readBearer(authorization) : readBoundToken(authorization, proof)
}

function readApiKey(key: string, authorization: string | null): Credential {
  if (authorization !== null) throw refuseCredential('expected one credential')
  return { kind: 'api_key', key }
}

function readBearer(authorization: string): Credential {
  const token = matchToken(bearer, authorization)
  if (token) return { kind: 'token', token, proof: undefined }
  throw refuseCredential(
    matchToken(dpop, authorization) ? 'DPoP proof is missing' : 'expected one Bearer token',
    dpop.test(authorization.slice(0, maxHeader)),
  )
}

/** Refuses a proof beside a Bearer token: the sender believes that the proof counts. */
function readBoundToken(authorization: string, proof: string): Credential {
  const token = matchToken(dpop, authorization)
  if (!token) throw refuseCredential('a DPoP proof needs one DPoP token', true)
  if (proof.length > maxHeader || !jwt.test(proof)) throw refuseCredential('expected one DPoP proof', true)
  return { kind: 'token', token, proof }
}

function matchToken(scheme: RegExp, authorization: string): string | undefined {
  const token = authorization.length <= maxHeader ? scheme.exec(authorization)?.[1] : undefined
  return token !== undefined && jwt.test(token) ? token : undefined
}

/** The fault of the proof of possession, for a DPoP challenge (RFC 9449 §7.1). */
export class ProofRejection extends Rejection {
  /** The nonce to use instead, if the nonce is the fault (RFC 9449 §9). */
  readonly nonce: string | undefined

  constructor(problem: string, { nonce, cause }: { readonly nonce?: string; readonly cause?: unknown } = {}) {
    super('signature_invalid', `Cannot take request: ${problem}`, { cause })
    this.nonce = nonce
  }
}

function refuseCredential(problem: string, isProof = false): Rejection {
  return isProof ? new ProofRejection(problem) : new Rejection('signature_invalid', `Cannot take request: ${problem}`)
}
