// Reads the one credential of a request and admits its bearer.

import { Rejection } from '@postern/message'
import type { AuthScheme, Challenger } from './challenges.ts'
import { ProofRejection } from './challenges.ts'

/** The unverified credential of a request: exactly one, or none. */
export type Credential =
  | { readonly kind: 'none' }
  | { readonly kind: 'api_key'; readonly key: string }
  | { readonly kind: 'token'; readonly token: string; readonly proof: string | undefined }

const maxHeaderChars = 8 * 1024
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
  const problem = matchToken(dpop, authorization) ? 'DPoP proof is missing' : describeInvalidToken(authorization)
  throw refuseCredential(problem, dpop.test(authorization.slice(0, maxHeaderChars)))
}

/** Describes the fault of a token: it is opaque and cannot be verified here, it is missing, there are two, or it is too long. */
function describeInvalidToken(authorization: string): string {
  const isOpaque = authorization.length <= maxHeaderChars && /^bearer +[^\s,]+$/i.test(authorization)
  return isOpaque
    ? 'the Bearer token is not a signed JWT, which has three parts with dots between them'
    : 'expected one Bearer token'
}

/** Reads a token with its proof. It refuses a proof beside a Bearer token, because its sender believes that the proof counts. */
function readBoundToken(authorization: string, proof: string): Credential {
  const token = matchToken(dpop, authorization)
  if (!token) throw refuseCredential('a DPoP proof needs one DPoP token', true)
  if (proof.length > maxHeaderChars || !jwt.test(proof)) throw refuseCredential('expected one DPoP proof', true)
  return { kind: 'token', token, proof }
}

function matchToken(scheme: RegExp, authorization: string): string | undefined {
  const token = authorization.length <= maxHeaderChars ? scheme.exec(authorization)?.[1] : undefined
  return token !== undefined && jwt.test(token) ? token : undefined
}

function refuseCredential(problem: string, isProof = false): Rejection {
  return isProof ? new ProofRejection(problem) : new Rejection('signature_invalid', `Cannot take request: ${problem}`)
}

/** Reads a credential and admits its bearer; a refusal gets the challenge. A rate limit or an unavailable store gets none. */
export function admitCredential<Caller>(
  read: () => Credential,
  admit: (credential: Credential) => Promise<Caller> | Caller,
  challenger: Challenger,
): Promise<Caller> | Caller {
  let scheme: AuthScheme = 'Bearer'
  const refuse = (error: unknown): never => {
    throw error instanceof Rejection && error.code !== 'rate_limited' ? challenger.refuse(error, scheme) : error
  }
  try {
    const credential = read()
    scheme = schemeOf(credential)
    const admitted = admit(credential)
    return admitted instanceof Promise ? admitted.catch(refuse) : admitted
  } catch (error) {
    return refuse(error)
  }
}

function schemeOf(credential: Credential): AuthScheme {
  if (credential.kind === 'api_key') return 'ApiKey'
  return credential.kind === 'token' && credential.proof !== undefined ? 'DPoP' : 'Bearer'
}
