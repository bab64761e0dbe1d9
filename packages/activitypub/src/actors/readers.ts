import { Rejection, Unavailable } from '@postern/core'
import type { RemoteActor } from '../peers/remote-actor.ts'
import type { VerifyFetchDeps } from '../proofs/fetch-deps.ts'
import { verifySignedFetch } from '../proofs/verify-fetch.ts'

/** Who may read what we publish. */
export interface Readers {
  /** Whether documents are shown to signed requests only. */
  readonly isSignedOnly: boolean
  /** Lets in everybody, or those who sign. @throws Rejection, Unavailable */
  admit(request: Request): Promise<void>
  /** Who asks; a stranger when it cannot be proven, for whatever reason: what is not for him does not exist for him. */
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
