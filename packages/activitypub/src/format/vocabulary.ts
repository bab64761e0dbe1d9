// Names the contexts and terms of the ActivityStreams and security vocabularies.

export const activityStreams = 'https://www.w3.org/ns/activitystreams'

/** The two spellings of the vocabulary's IRI. Servers write either of them (AS2 §2.1.1 mentions the second). */
export const activityStreamsNames: readonly string[] = [activityStreams, activityStreams.replace('https:', 'http:')]

export const securityContext = 'https://w3id.org/security/v1'

/**
 * The contexts of keys. Without the first context, readers of JSON-LD do not see `assertionMethod`. Without the second
 * context, they do not know the type `Multikey`.
 */
export const multikeyContexts = ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/multikey/v1'] as const

export const publicCollection = `${activityStreams}#Public`

/** The three spellings of the public audience on the network (ActivityPub §5.6). */
const publicNames: ReadonlySet<string> = new Set([publicCollection, 'as:Public', 'Public'])

export function isPublicCollection(iri: string): boolean {
  return publicNames.has(iri)
}
