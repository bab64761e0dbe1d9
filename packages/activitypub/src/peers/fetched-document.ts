// Defines the outcome of fetching a document from another server.

/**
 * A fetched document, or the origin's answer that it does not exist: `gone` if it was deleted (410), `missing` if it is
 * unknown (404).
 */
export type FetchedDocument =
  | { readonly state: 'found'; readonly document: unknown }
  | { readonly state: 'gone' | 'missing' }

/**
 * A function that fetches an AS2 document from the origin of its own IRI. The instance actor signs the request, because
 * strict servers show nothing to strangers (GoToSocial, Mastodon's secure mode).
 * @throws Unavailable the host did not answer, or asked us to wait
 * @throws Undeliverable there is no such document, it is not served as one, or its host is blocked
 */
export type FetchDocument = (iri: string) => Promise<FetchedDocument>

/**
 * The fetch of documents of possible signers: actors and keys. Anybody can make us fetch them, and our signature is the largest cost, so the
 * first request has none. A host that requires a signature gets one.
 */
export interface SignerDocuments {
  /** Fetches a document, first without a signature. @throws like `FetchDocument` */
  fetch(iri: string): Promise<SignerDocument>
  /**
   * Returns true if a host recently showed the same documents with and without our signature. Otherwise its unsigned documents are not enough to
   * admit a sender.
   */
  showsEverything(host: string): boolean
  /** Records whether a host shows everything without our signature. */
  recordHostMode(host: string, showsEverything: boolean): void
}

/** A document of a possible signer. `isPublic` means that the host showed it without our signature. */
export type SignerDocument = FetchedDocument & { readonly isPublic?: true }

export interface FetchActorDeps {
  readonly fetchDocument: FetchDocument
  now(): number
}
