import type { SigningKey } from '../signature/sign.ts'

/** The kind of key that signs requests: RSA, which every server verifies. */
export interface RequestKey extends SigningKey {
  /** SPKI. */
  readonly publicKeyPem: string
}

/** The kind of key that signs documents: Ed25519 (FEP-521a). */
export interface DocumentKey extends SigningKey {
  readonly publicKeyMultibase: string
}

/**
 * The keys of one generation. Peers cache the public halves, so they are stored before they are shown, and outlive
 * restarts.
 */
export interface KeyPairs {
  readonly request: RequestKey
  readonly document: DocumentKey
  /** ISO 8601 UTC. */
  readonly madeAt: string
}
