// Describes a public key or DNS record that an operator publishes for a channel.

/** A public key or DNS record to publish (`postern keys`). */
export interface PublishedKey {
  /** The use of the key, such as the signing of mail. */
  readonly purpose: string
  readonly id: string
  readonly algorithm: string
  /** The key as PEM, JWK or another text form. */
  readonly publicKey: string
  /** The DNS record that contains the key. Absent if the key is not published in DNS. */
  readonly dns?: { readonly name: string; readonly type: 'TXT'; readonly value: string } | undefined
  /** The time of its creation, ISO 8601 UTC. Absent if the gateway has not created the key. */
  readonly madeAt?: string | undefined
}
