// Declares the secrets by which the gateway recognizes the addresses, links and tokens that it issued, and their rotation.

/** The purposes of the store's secrets, and what is signed or derived for each. */
export const secretPurposes = {
  attachments: 'addresses of files that messages hold',
  'web-storage': 'addresses of files of the chat',
  requirements: 'links to decisions',
  people: 'codes that link addresses',
  'email-address-tokens': 'addresses for answers and bounces, links to unsubscribe, hops of mail',
  prompts: 'delimiters in prompts',
  rehearsals: 'requests by which the gateway tries itself',
  'a2a:dpop-nonce': 'nonces of DPoP proofs',
  'a2a-page-token': 'page tokens of ListTasks',
  'test-payments': 'receipts of the test provider',
} as const

export type SecretPurpose = keyof typeof secretPurposes

/** The time for which a key stays valid after a newer one has replaced it, ms. */
export const replacedSecretMs = 7 * 86_400_000

/** The keys of one purpose. A rotation changes them in every process of the gateway, so callers read them at each use. */
export interface SecretRing {
  /** Lists the valid keys, newest first. Callers issue with the first key and accept every key. */
  list(): readonly string[]
  /** Lists all keys, even expired ones, newest first. They are for digests that the gateway itself stores, and never for data that a peer sends. */
  listAll(): readonly string[]
}

/** A secret as operators see it, without its value. */
export interface ListedSecret {
  readonly purpose: SecretPurpose
  /** The number of its generation, counted from 1. */
  readonly generation: number
  /** The time of its creation, ms since 1970; absent for a secret of an earlier release. */
  readonly madeAt?: number | undefined
}

export interface RotateOptions {
  /** True to revoke every older key at once, because somebody else may have it. */
  readonly isRevoking?: boolean | undefined
}

export interface SecretStore {
  /** Returns the keys of a purpose. Creates and stores the first ones if there are none. */
  openSecret(purpose: SecretPurpose): Promise<SecretRing>
  /** Lists the valid secrets, newest first within each purpose. */
  listSecrets(): Promise<readonly ListedSecret[]>
  /** Creates new secrets for all purposes. The earlier ones stay valid for another week, unless they are revoked. */
  rotateSecrets(options?: RotateOptions): Promise<void>
}
