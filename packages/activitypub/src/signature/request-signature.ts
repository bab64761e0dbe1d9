// Defines a request, and its signature of either scheme: draft-cavage-12 or RFC 9421.
import type { KeyObject } from 'node:crypto'
import type { HeaderFields, IncomingRequest } from '@postern/http'
import type { TimeWindow } from './signature-checks.ts'

/** The signature of a request. Its syntax and its coverage have been checked. The other checks follow in the order of their cost. */
export interface RequestSignature {
  readonly scheme: 'cavage' | 'rfc9421'
  readonly keyId: string
  /** The algorithm that the signature names. The type of the key decides which algorithm is used. */
  readonly algorithm: string | undefined
  readonly coveredNames: readonly string[]
  /** Checks the signed times. @throws Rejection `expired`, `signature_invalid` */
  checkTimes(window: TimeWindow): void
  /** Checks the digests of the body. @throws Rejection `signature_invalid` */
  checkBody(body: Uint8Array): void
  /** Returns true if `key` made the signature. @throws Rejection when a covered component is missing */
  isMadeBy(key: KeyObject): boolean
}

/** The parameters that a signature of either scheme declares. The names are those of a `Signature` header (draft-cavage-12 §2.1). */
export interface SignatureParameters {
  readonly keyId: string
  readonly signature: Uint8Array
  /** The names of the covered components, in lower case and in signing order. */
  readonly coveredNames: readonly string[]
  readonly algorithm: string | undefined
  /** The time of the signature, in seconds since the epoch. Undefined if it states none. */
  readonly created: number | undefined
  readonly expires: number | undefined
}

/** A request as received, or as its sender must have signed it. */
export interface SignedRequest {
  readonly method: string
  /** The path and query as on the request line. */
  readonly target: string
  /** The configured public origin. Neither `Host` nor a proxy's header is trusted. */
  readonly origin: string
  readonly headers: HeaderFields
}

/** Returns the host, with its port if any. */
export function readHost({ origin }: Pick<SignedRequest, 'origin'>): string {
  return origin.slice(origin.indexOf('//') + 2)
}

/** Converts a request for the check of its signature. The target is the text of the request line, as far as the server has preserved it. */
export function toSignedRequest({ method, url, headers }: IncomingRequest, origin: string): SignedRequest {
  const pathIndex = url.indexOf('/', url.indexOf('//') + 2)
  const hashIndex = url.indexOf('#')
  const target = url.slice(pathIndex < 0 ? url.length : pathIndex, hashIndex < 0 ? url.length : hashIndex) || '/'
  return { method, target, origin, headers }
}

/** Returns true if a request with this method may have content, which its signature must then cover. A GET has none. */
export function hasContent({ method }: Pick<SignedRequest, 'method'>): boolean {
  return method !== 'GET' && method !== 'HEAD'
}
