import type { Rejection } from '@postern/core'
import { Unavailable, Undeliverable } from '@postern/core'
import { createRateLimit } from '@postern/limits'
import type { Iri } from '../format/document.ts'
import type { RemoteActor } from './actor-document.ts'
import { parseActor } from './actor-document.ts'

/** The origin may say that there is no such document: `gone`, it was here (410); `missing`, it is not (404). */
export type FetchedDocument =
  | { readonly state: 'found'; readonly document: unknown }
  | { readonly state: 'gone' | 'missing' }

/**
 * Fetches an AS2 document from the origin of its own IRI. The instance actor signs the request, because strict servers
 * show nothing to strangers (GoToSocial, Mastodon's secure mode).
 * @throws Unavailable the host did not answer, or asked us to wait
 * @throws Undeliverable there is no such document, it is not served as one, or its host is blocked
 */
export type FetchDocument = (iri: string) => Promise<FetchedDocument>

/**
 * Documents of those who claim to have signed something: actors and keys. Anybody can make us fetch them, and our
 * signature is what costs most of it, so the first request has none. A host that wants one gets it.
 */
export interface SignerDocuments {
  /** @throws like `FetchDocument` */
  fetch(iri: string): Promise<SignerDocument>
  /** Whether a host lately showed the same to everybody as to us. Until then, what it shows to everybody admits nobody. */
  isOpen(host: string): boolean
  /** Remembers whether it did. */
  learn(host: string, isOpen: boolean): void
}

/** `isForAll`: its host showed it without our signature. */
type SignerDocument = FetchedDocument & { readonly isForAll?: true }

export interface LookUpDeps {
  readonly fetchDocument: FetchDocument
  now(): number
}

/** The result of a look-up. It remembers errors too, so that a bad name costs one fetch in a while. */
export type FoundActor = { readonly actor: RemoteActor; readonly state?: undefined } | Refused
export type Refused =
  | { readonly actor?: undefined; readonly state: 'gone' | 'missing' }
  | { readonly actor?: undefined; readonly state?: undefined; readonly error: Unavailable | Undeliverable }

type LookUpCeilings = Readonly<Record<'perHost' | 'inAll', number>> & { readonly atOnce?: number }

/** Counts look-ups that strangers make us do, by the minute. What it returns throws a Rejection `rate_limited` beyond a ceiling. */
export function limitLookUps({ perHost, inAll, atOnce = inAll }: LookUpCeilings, now: () => number) {
  const ofHost = createRateLimit({ perMinute: perHost }, now)
  const ofAll = createRateLimit({ perMinute: inAll, burst: atOnce }, now)
  return (host: string): void => {
    ofHost.take(host)
    ofAll.take('')
  }
}

type PeerFault = typeof Unavailable | typeof Undeliverable | typeof Rejection

/** What `look` finds; undefined when it ends in one of these faults, which are a peer's. */
export async function unless<Found>(
  faults: readonly PeerFault[],
  look: () => Promise<Found>,
): Promise<Found | undefined> {
  try {
    return await look()
  } catch (error) {
    if (faults.some(Fault => error instanceof Fault)) return undefined
    throw error
  }
}

export async function lookUpActor(
  iri: Iri,
  fetchDocument: (iri: string) => Promise<SignerDocument>,
  noteForAll?: (actor: RemoteActor) => void,
): Promise<FoundActor> {
  try {
    const fetched = await fetchDocument(iri.href)
    if (fetched.state !== 'found') return { state: fetched.state }
    const actor = parseActor(fetched.document, iri)
    if (fetched.isForAll) noteForAll?.(actor)
    return { actor }
  } catch (error) {
    if (error instanceof Unavailable || error instanceof Undeliverable) return { error }
    throw error
  }
}

export function kindOf(found: Refused): 'refused' | 'unavailable' {
  return 'error' in found && found.error instanceof Unavailable ? 'unavailable' : 'refused'
}

/** Some servers let each account choose what everybody sees of it (Sharkey): keys and inbox, but no name. */
export function isFullActor({ name, inbox }: RemoteActor): boolean {
  return name !== undefined && inbox !== undefined
}
