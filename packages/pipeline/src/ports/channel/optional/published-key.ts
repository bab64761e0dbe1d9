// Describes a public key or DNS record that an operator publishes for a channel.

/** A public key or DNS record to publish (`postern keys`). */
export interface PublishedKey {
  readonly purpose: string
  readonly id: string
  readonly algorithm: string
  /** The key as PEM, JWK or another text form. */
  readonly publicKey: string
  readonly dns?: { readonly name: string; readonly type: 'TXT'; readonly value: string } | undefined
  /** The time of its creation, ISO 8601 UTC; absent if it is not a key of ours. */
  readonly madeAt?: string | undefined
}
