import { Rejection, Unavailable, Undeliverable } from '@postern/core'
import type { Iri } from '../format/iri.ts'
import type { RemoteActors } from '../peers/actor-cache.ts'
import type { RemoteActor } from '../peers/remote-actor.ts'
import type { RequestProof } from '../signature/request-proof.ts'

/** A peer claims to be `iri`, whose own document is `actor`. */
interface SignerClaim {
  readonly iri: Iri
  readonly actor: RemoteActor
  readonly proof: RequestProof
}

/** Undefined when the actor is gone for good. @throws Rejection, Unavailable */
export function findSigner(iri: Iri, actors: Pick<RemoteActors, 'find'>): Promise<RemoteActor | undefined> {
  return asPeersFault(() => actors.find(iri))
}

/**
 * The key must be listed by the actor's own document; a key that changed since is looked up once more.
 * @throws Rejection `signer_mismatch`, `signature_invalid`; Unavailable
 */
export async function proveSigner(claim: SignerClaim, actors: Pick<RemoteActors, 'refresh'>): Promise<RemoteActor> {
  if (findFault(claim) === undefined) return claim.actor
  const actor = (await asPeersFault(() => actors.refresh(claim.iri))) ?? claim.actor
  const fault = findFault({ ...claim, actor })
  if (fault) throw fault
  return actor
}

function findFault({ actor, proof }: SignerClaim): Rejection | undefined {
  const key = actor.keys.get(proof.keyId)
  if (!key) return new Rejection('signer_mismatch', "Cannot verify activity: its actor does not list the signer's key")
  if (proof.isMadeBy(key)) return undefined
  return new Rejection('signature_invalid', 'Cannot verify activity: signature does not fit')
}

/** When the peer refuses to show its document or shows a wrong one, the signer failed, not this gateway. */
export async function asPeersFault<Result>(look: () => Promise<Result>): Promise<Result> {
  try {
    return await look()
  } catch (cause) {
    if (cause instanceof Undeliverable) {
      throw new Rejection('signature_invalid', "Cannot verify activity: its actor's document cannot be had", { cause })
    }
    if (cause instanceof Unavailable) {
      const { retryAfter } = cause
      throw new Unavailable("Cannot verify activity: its actor's host does not answer", {
        cause,
        ...(retryAfter && { retryAfter }),
      })
    }
    throw cause
  }
}
