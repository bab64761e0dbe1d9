import { Rejection, Unavailable } from '@postern/core'
import type { RemoteActor } from '../peers/remote-actor.ts'
import type { VerifyFetchDeps } from '../proofs/fetch-deps.ts'
import { verifySignedFetch } from '../proofs/verify-fetch.ts'

/** The readers of our documents. */
export interface Readers {
  /** Whether documents are shown to signed requests only. */
  readonly isSignedOnly: boolean
  /** Lets in everyone, or only those who sign. @throws Rejection, Unavailable */
  admit(request: Request): Promise<void>
  /**
   * The actor that asks. A reader without proof is a stranger, whatever the reason; documents for others do not exist
   * for strangers.
   */
  identify(request: Request): Promise<RemoteActor | undefined>
}

export function createReaders(isSignedOnly: boolean, parts: VerifyFetchDeps): Readers {
  return {
    isSignedOnly,
    async admit(request) {
      if (isSignedOnly && !(await verifySignedFetch(request, parts))) {
        throw new Rejection('unsigned', 'Cannot show document: sign the request')
      }
    },
    async identify(request) {
      try {
        return await verifySignedFetch(request, parts)
      } catch (error) {
        if (error instanceof Rejection || error instanceof Unavailable) return undefined
        throw error
      }
    },
  }
}
