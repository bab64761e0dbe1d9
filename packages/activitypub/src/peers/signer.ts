// Proves that the actor of an activity lists the key of its signature.
import { Rejection, Unavailable, Undeliverable } from '@postern/message'
import type { Iri } from '../format/iri.ts'
import type { RequestSignature } from '../signature/request-signature.ts'
import type { ActorCache } from './actor-cache.ts'
import type { RemoteActor } from './actor-document.ts'
import { signatureRefusedStatus } from './known-key.ts'

/**
 * Runs a query and turns its failures into faults of the signer. If the peer refuses to show the actor's document or shows a wrong one, the signer
 * is at fault and not this gateway.
 */
export async function blamePeer<Result>(query: () => Promise<Result>): Promise<Result> {
  try {
    return await query()
  } catch (cause) {
    if (cause instanceof Undeliverable) {
      throw new Rejection('signature_invalid', "Cannot verify activity: its actor's document cannot be had", { cause })
    }
    if (cause instanceof Unavailable) {
      const { retryAfter } = cause
      const failure = cause.status === signatureRefusedStatus ? 'refuses our signature' : 'does not answer'
      throw new Unavailable(`Cannot verify activity: its actor's host ${failure}`, {
        cause,
        ...(retryAfter && { retryAfter }),
      })
    }
    throw cause
  }
}

/** The claim of a peer to be the actor at `iri`. `actor` is the document of that actor. */
interface SignerClaim {
  readonly iri: Iri
  readonly actor: RemoteActor
  readonly signature: RequestSignature
  /** True if `actor` came from the cache. Otherwise its document has just been fetched, and another fetch finds no newer key. */
  readonly wasCached: boolean
}

/** Finds the actor whom a signer claims to be. Returns undefined if the actor is deleted. @throws Rejection, Unavailable */
export function findSigner(iri: Iri, actors: Pick<ActorCache, 'findClaimed'>): Promise<RemoteActor | undefined> {
  return blamePeer(() => actors.findClaimed(iri))
}

/**
 * Proves that the actor's own document lists the key of the signature. If the key has changed, the document is fetched once more. A document that
 * its host shows to everybody is enough to reject a signer. To admit a signer, the host must show the document to us.
 * @throws Rejection `signer_mismatch`, `signature_invalid`; Unavailable
 */
export async function proveSigner(
  claim: SignerClaim,
  actors: Pick<ActorCache, 'find' | 'refresh' | 'isProvisional'>,
): Promise<RemoteActor> {
  const { iri, actor } = claim
  const rejection = findRejection(claim)
  if (rejection && isForged(claim)) throw rejection
  if (actors.isProvisional(actor)) return requireProof(await requireActorShownToUs(iri, actors), claim)
  return rejection ? requireProof((await blamePeer(() => actors.refresh(iri))) ?? actor, claim) : actor
}

async function requireActorShownToUs(iri: Iri, actors: Pick<ActorCache, 'find'>): Promise<RemoteActor> {
  const actor = await blamePeer(() => actors.find(iri))
  if (!actor) throw new Rejection('signature_invalid', 'Cannot verify activity: its host does not show us its actor')
  return actor
}

/** Returns true if a document that has just been fetched lists the key, but another key made the signature. */
function isForged({ actor, signature, wasCached: wasKnown }: SignerClaim): boolean {
  return !wasKnown && actor.keys.has(signature.keyId)
}

function requireProof(actor: RemoteActor, { signature }: Pick<SignerClaim, 'signature'>): RemoteActor {
  const rejection = findRejection({ actor, signature })
  if (rejection) throw rejection
  return actor
}

function findRejection({ actor, signature }: Pick<SignerClaim, 'actor' | 'signature'>): Rejection | undefined {
  const key = actor.keys.get(signature.keyId)
  if (!key) return new Rejection('signer_mismatch', "Cannot verify activity: its actor does not list the signer's key")
  if (signature.isMadeBy(key)) return undefined
  return new Rejection('signature_invalid', 'Cannot verify activity: signature does not fit')
}
