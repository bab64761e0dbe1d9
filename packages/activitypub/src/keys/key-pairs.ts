import type { SigningKey } from '../signature/sign.ts'

/** What signs requests: RSA, the one kind that every server verifies. */
export interface RequestKey extends SigningKey {
  /** SPKI. */
  readonly publicKeyPem: string
}

/** What signs documents: Ed25519 (FEP-521a). */
export interface DocumentKey extends SigningKey {
  readonly publicKeyMultibase: string
}

/** The keys of one generation; peers cache the public halves, so they outlive restarts (they are kept before they are shown). */
export interface KeyPairs {
  readonly request: RequestKey
  readonly document: DocumentKey
  /** ISO 8601 UTC. */
  readonly madeAt: string
}
