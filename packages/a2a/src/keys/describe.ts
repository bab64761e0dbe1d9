import type { PublishedKey } from '@postern/core'
import type { PublicJwk } from './ring.ts'

/** The text of `postern keys`. */
export function describeKey(jwk: PublicJwk): PublishedKey {
  return {
    purpose: 'signs agent cards and our calls to other agents',
    id: jwk.kid,
    algorithm: jwk.alg,
    publicKey: JSON.stringify(jwk),
  }
}
