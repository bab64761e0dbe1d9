// Declares HTTP requests with a guard on addresses, and with whole or streamed answers.

export interface FetchRequest {
  readonly method?: 'GET' | 'POST' | 'HEAD' | 'PUT' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array | string
  /** Ends the exchange early; it also ends by itself after `timeoutMs`. */
  readonly signal?: AbortSignal
  /** The longest time from the first byte sent to the last byte read, in ms; default: 10 000. */
  readonly timeoutMs?: number
  /** The maximum number of decoded bytes of the body that are read; default: 1 MiB. */
  readonly maxBytes?: number
  /** The maximum number of redirects that are followed, each checked like the first address; default: 0. */
  readonly redirects?: number
  /**
   * True if the request may be sent again when a reused connection broke before an answer, although the server may have acted on it. Default: true
   * except for POST (RFC 9110 §9.2.2).
   */
  readonly isRepeatable?: boolean
}

/** An answer read to its end, within the limits of the request. */
export interface FetchAnswer {
  readonly status: number
  readonly headers: Headers
  /** The address of the answer after redirects. */
  readonly url: string
  readonly body: Uint8Array
}

/**
 * The only function for outgoing HTTP requests: https, public addresses only, pinned to the checked address.
 * @throws Unavailable if the server did not answer in time or its name could not be resolved
 * @throws Undeliverable if the address is forbidden, or the answer exceeds a limit
 */
export type GuardedFetch = (url: string, request?: FetchRequest) => Promise<FetchAnswer>

export interface StreamRequest extends Pick<FetchRequest, 'method' | 'headers' | 'body' | 'signal' | 'maxBytes'> {
  /** The longest time until the answer begins, in ms; default: 10 000. */
  readonly timeoutMs?: number
  /** The longest time without a byte, in ms; default: 60 000. */
  readonly idleMs?: number
}

/** An answer that is read as it arrives. Leaving the loop over `body` ends the exchange; if it is never read, it ends by itself. */
export interface StreamAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: AsyncIterable<Uint8Array>
}

/**
 * The function for streamed answers, with the same guard as `GuardedFetch`. It does not follow redirects; `maxBytes` limits the whole body (default:
 * 16 MiB).
 * @throws Unavailable, Undeliverable, both also from the body
 */
export type OpenStream = (url: string, request?: StreamRequest) => Promise<StreamAnswer>
