// Creates the identity evidence that a channel issues for its own proof.

import type { CredentialKind, IdentityEvidence } from './identity.ts'

/** Returns the URN of a channel's own method, such as `email-dkim` (Mentionable, ns/identity/v0.1). */
export function formatTransportMethod(method: string): string {
  return `urn:mentionable:auth:${method}:v0.1`
}

interface TransportEvidenceOptions {
  readonly method: string
  readonly subject: string
  readonly issuer: string
  readonly assurance: 'address' | 'oauth' | 'domain'
  /** The agent the message was addressed to, `@agent@domain`. */
  readonly audience: string
  /** ISO 8601 UTC. */
  readonly issuedAt: string
  readonly keyId?: string | undefined
  /** The kind of credential that `subject` names; absent if it names an account. */
  readonly credential?: CredentialKind | undefined
}

/** Returns the evidence that a channel issues for its own proof. */
export function createTransportEvidence(evidence: TransportEvidenceOptions): IdentityEvidence {
  const { method, subject, issuer, assurance, audience, issuedAt, keyId, credential } = evidence
  return {
    subject,
    issuer,
    method: formatTransportMethod(method),
    assurance,
    audience,
    issued_at: issuedAt,
    proof: {
      type: 'transport',
      verified_by: method,
      ...(keyId && { key_id: keyId }),
      ...(credential && { credential }),
    },
  }
}
