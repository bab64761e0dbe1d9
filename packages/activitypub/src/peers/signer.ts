// Proves that the actor of an activity lists the key of its signature.
import { Rejection, Unavailable, Undeliverable } from '@postern/message'
import type { Iri } from '../format/iri.ts'
import type { RequestSignature } from '../signature/request-signature.ts'
import type { ActorCache } from './actor-cache.ts'
import type { RemoteActor } from './actor-document.ts'
import { signatureRefusedStatus } from './known-key.ts'

/**
 * Runs a query and turns its failures into faults of the signer. If the peer refuses its document or shows a wrong one, the signer failed and not
 * this gateway.
 */
export async function toPeerFault<Result>(query: () => Promise<Result>): Promise<Result> {
  try {
    return await query()
  } catch (cause) {
    if (cause instanceof Undeliverable) {
      throw new Rejection('signature_invalid', "Cannot verify activity: its actor's document cannot be had", { cause })
    }
    if (cause instanceof Unavailable) {
      const { retryAfter } = cause
      const problem = cause.status === signatureRefusedStatus ? 'refuses our signature' : 'does not answer'
      throw new Unavailable(`Cannot verify activity: its actor's host ${problem}`, {
        cause,
        ...(retryAfter && { retryAfter }),
      })
    }
    throw cause
  }
}

/** The claim of a peer to be `iri`, with its own document `actor`. */
interface SignerClaim {
  readonly iri: Iri
  readonly actor: RemoteActor
  readonly signature: RequestSignature
  /** True if `actor` came from the cache. Otherwise its document has just been fetched, and another fetch finds no newer key. */
  readonly wasKnown: boolean
}

/** Finds the actor whom a signer claims to be. It returns undefined if the actor is deleted. @throws Rejection, Unavailable */
export function findSigner(iri: Iri, actors: Pick<ActorCache, 'findClaimed'>): Promise<RemoteActor | undefined> {
  return toPeerFault(() => actors.findClaimed(iri))
}

/**
 * Proves that the actor's own document lists the key of the signature. If the key has changed, the document is fetched once more. A document that
 * its host shows to everybody is enough to reject a signer. To admit one, the host must show it to us.
 * @throws Rejection `signer_mismatch`, `signature_invalid`; Unavailable
 */
export async function proveSigner(
  claim: SignerClaim,
  actors: Pick<ActorCache, 'find' | 'refresh' | 'isProvisional'>,
): Promise<RemoteActor> {
  const { iri, actor } = claim
  const fault = findFault(claim)
  if (fault && isForged(claim)) throw fault
  if (actors.isProvisional(actor)) return proveBy(await requireActorShownToUs(iri, actors), claim)
  return fault ? proveBy((await toPeerFault(() => actors.refresh(iri))) ?? actor, claim) : actor
}

async function requireActorShownToUs(iri: Iri, actors: Pick<ActorCache, 'find'>): Promise<RemoteActor> {
  const actor = await toPeerFault(() => actors.find(iri))
  if (!actor) throw new Rejection('signature_invalid', 'Cannot verify activity: its host does not show us its actor')
  return actor
}

/** Returns true if a document that has just been fetched lists the key, but another key made the signature. */
function isForged({ actor, signature, wasKnown }: SignerClaim): boolean {
  return !wasKnown && actor.keys.has(signature.keyId)
}

function proveBy(actor: RemoteActor, { signature }: Pick<SignerClaim, 'signature'>): RemoteActor {
  const fault = findFault({ actor, signature })
  if (fault) throw fault
  return actor
}

function findFault({ actor, signature }: Pick<SignerClaim, 'actor' | 'signature'>): Rejection | undefined {
  const key = actor.keys.get(signature.keyId)
  if (!key) return new Rejection('signer_mismatch', "Cannot verify activity: its actor does not list the signer's key")
  if (signature.isMadeBy(key)) return undefined
  return new Rejection('signature_invalid', 'Cannot verify activity: signature does not fit')
}
