// Defines the port that signs and sends a request, regardless of the scheme of the signature.
import type { KeyObject } from 'node:crypto'
import { sign } from 'node:crypto'
import { promisify } from 'node:util'
import type { FetchAnswer } from '@postern/message'
import type { SigningKey } from './key-generations.ts'

export interface RequestToSign extends Pick<OutgoingRequest, 'method' | 'url' | 'body'> {
  readonly headers?: Readonly<Record<string, string>>
  /** The timeout of both attempts together, in ms from now. */
  readonly timeoutMs: number
  readonly maxBytes?: number
}

/**
 * A function that sends a signed request, and repeats the request with the other scheme if the first scheme is rejected. draft-cavage-12 is the first
 * scheme, because some servers answer 202 to RFC 9421 and drop the message later, when they cannot read it.
 * @throws Unavailable, Undeliverable
 */
export type SendSigned = (request: RequestToSign, key: SigningKey) => Promise<FetchAnswer>

export const signInThreadpool = promisify<string, Buffer, KeyObject, Buffer>(sign)

export interface OutgoingRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  /** The present time, in ms since the epoch. */
  readonly now: number
  readonly body?: { readonly bytes: Uint8Array; readonly type: string } | undefined
}
