// Reads the signature of a request by the scheme of its headers.
import type { HeaderFields } from '@postern/http'
import { readCavageSignature } from './cavage-signature.ts'
import type { RequestSignature, SignedRequest } from './request-signature.ts'
import { readMessageSignature } from './rfc9421/message-signature.ts'

/**
 * Reads the signature of a request. If it has a `Signature-Input`, only RFC 9421 counts, and a draft-cavage signature is ignored.
 * @throws Rejection `unsigned`, `signature_invalid`
 */
export function readRequestSignature(request: SignedRequest): RequestSignature {
  return request.headers.has('signature-input') ? readMessageSignature(request) : readCavageSignature(request)
}

/** Returns true if a request has a signature, valid or not. */
export function isSigned(headers: HeaderFields): boolean {
  return headers.has('signature') || headers.has('signature-input')
}
