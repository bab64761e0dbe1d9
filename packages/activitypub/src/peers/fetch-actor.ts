// Fetches one actor, and returns a failure as a result.

import { Unavailable, Undeliverable } from '@postern/message'
import type { Iri } from '../format/iri.ts'
import type { RemoteActor } from './actor-document.ts'
import { parseActor } from './actor-document.ts'
import type { SignerDocument } from './fetched-document.ts'

/** The result of a fetch. Failures are cached too, so that repeated requests for an invalid name cost only one fetch in a while. */
export type ActorLookup = { readonly actor: RemoteActor; readonly state?: undefined } | ActorFailure

export type ActorFailure =
  | { readonly actor?: undefined; readonly state: 'gone' | 'missing' }
  | { readonly actor?: undefined; readonly state?: undefined; readonly error: Unavailable | Undeliverable }

export async function fetchActor(
  iri: Iri,
  fetchDocument: (iri: string) => Promise<SignerDocument>,
  onPublicActor?: (actor: RemoteActor) => void,
): Promise<ActorLookup> {
  try {
    const result = await fetchDocument(iri.href)
    if (result.state !== 'found') return { state: result.state }
    const actor = parseActor(result.document, iri)
    if (result.isPublic) onPublicActor?.(actor)
    return { actor }
  } catch (error) {
    if (error instanceof Unavailable || error instanceof Undeliverable) return { error }
    throw error
  }
}

export function classifyFailure(failure: ActorFailure): 'refused' | 'unavailable' {
  return 'error' in failure && failure.error instanceof Unavailable ? 'unavailable' : 'refused'
}

/**
 * Returns true if an actor is complete. Some servers let each account choose what everybody sees of it (Sharkey), and then show keys and inbox
 * but no name.
 */
export function isFullActor({ name, inbox }: RemoteActor): boolean {
  return name !== undefined && inbox !== undefined
}
