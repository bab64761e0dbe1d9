import type { PublishedKey } from '@postern/core'
import { isoTime } from '@postern/core'
import type { OwnKey } from './ring.ts'

/** The text of `postern keys`. */
export function describeKey({ publicJwk, madeAt }: OwnKey): PublishedKey {
  return {
    purpose: 'signs agent cards and our calls to other agents',
    id: publicJwk.kid,
    algorithm: publicJwk.alg,
    publicKey: JSON.stringify(publicJwk),
    madeAt: isoTime(madeAt),
  }
}
