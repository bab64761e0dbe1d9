import type { SimActor } from '../actors/actor.ts'

export interface DraftRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly body?: Uint8Array | undefined
  /** Milliseconds since the epoch, for `Date` and `created`. */
  readonly at: number
}

/** A request that its signer's server has begun to write. */
export interface UnsignedRequest extends DraftRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly signer: SimActor
  /** PEM; may be another key than the signer's. */
  readonly key: string
}
