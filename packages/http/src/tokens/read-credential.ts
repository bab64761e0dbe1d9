// Reads the one credential of a request and admits its bearer.

import { Rejection } from '@postern/message'
import type { HeaderFields } from '../request/socket-request.ts'
import type { AuthScheme, Challenger } from './challenges.ts'
import { ProofRejection } from './challenges.ts'

/** The unverified credential of a request: exactly one, or none. */
export type Credential =
  | { readonly kind: 'none' }
  | { readonly kind: 'api_key'; readonly key: string }
  | { readonly kind: 'token'; readonly token: string; readonly proof: string | undefined }

const maxHeaderChars = 8 * 1024
/** Node joins two headers with a comma, which neither a token nor a proof contains. */
const jwtPattern = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/
const bearerPattern = /^bearer +(\S+)$/i
const dpopPattern = /^dpop +(\S+)$/i

/**
 * Reads the one credential of a request (RFC 6750 §2.1, RFC 9449 §7.1). Schemes may have any case (RFC 9110 §11.1). A token in the query is
 * ignored. Without configured API keys `apiKeyHeader` is undefined, and the header may serve other programs.
 * @throws Rejection `signature_invalid`
 */
export function readCredential(headers: HeaderFields, apiKeyHeader: string | undefined): Credential {
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
  const token = matchToken(bearerPattern, authorization)
  if (token) return { kind: 'token', token, proof: undefined }
  const reason = matchToken(dpopPattern, authorization) ? 'DPoP proof is missing' : describeInvalidToken(authorization)
  const isProofScheme = dpopPattern.test(authorization.slice(0, maxHeaderChars))
  throw isProofScheme ? new ProofRejection(reason) : refuseCredential(reason)
}

/** Describes the error of a header: its token is opaque and cannot be verified here, is missing or too long, or there are two tokens. */
function describeInvalidToken(authorization: string): string {
  const isOpaque = authorization.length <= maxHeaderChars && /^bearer +[^\s,]+$/i.test(authorization)
  return isOpaque
    ? 'the Bearer token is not a signed JWT, which has three parts with dots between them'
    : 'expected one Bearer token'
}

/** Reads a token with its proof. A proof beside a Bearer token is refused, because its sender believes that the proof counts. */
function readBoundToken(authorization: string, proof: string): Credential {
  const token = matchToken(dpopPattern, authorization)
  if (!token) throw new ProofRejection('a DPoP proof needs one DPoP token')
  if (proof.length > maxHeaderChars || !jwtPattern.test(proof)) throw new ProofRejection('expected one DPoP proof')
  return { kind: 'token', token, proof }
}

function matchToken(scheme: RegExp, authorization: string): string | undefined {
  const token = authorization.length <= maxHeaderChars ? scheme.exec(authorization)?.[1] : undefined
  return token !== undefined && jwtPattern.test(token) ? token : undefined
}

function refuseCredential(reason: string): Rejection {
  return new Rejection('signature_invalid', `Cannot take request: ${reason}`)
}

/** Reads a credential and admits its bearer. A refusal gets the challenge, but a rate limit or an unavailable store does not. */
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
    const admission = admit(credential)
    return admission instanceof Promise ? admission.catch(refuse) : admission
  } catch (error) {
    return refuse(error)
  }
}

function schemeOf(credential: Credential): AuthScheme {
  if (credential.kind === 'api_key') return 'ApiKey'
  return credential.kind === 'token' && credential.proof !== undefined ? 'DPoP' : 'Bearer'
}
