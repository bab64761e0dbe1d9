import type { IdentityEvidence } from '../../message/address/identity.ts'
import type { Proof } from '../../message/proof.ts'

/** The party that brings a message, as its transport has proven it. */
export interface EvidenceCaller {
  /** Of its token or key; empty when it proved nothing. */
  readonly issuer: string
  readonly subject: string
}

/** The message's statements about the person it speaks for, unchecked. */
interface EvidenceCarriers {
  /** v0.1 envelopes. */
  readonly identity_evidence?: unknown
  /** v0.2 credentials. */
  readonly verifiable_credentials?: unknown
}

export interface EvidenceClaim {
  /** The addressed agent, `@agent@domain`: evidence for another one does not count here. */
  readonly audience: string
  /** By the sender's own id. */
  readonly messageId: string
  /**
   * The sender whose message id it is: the same message again may bring the same evidence again. Undefined for a sender
   * without proof.
   */
  readonly sender?: string | undefined
  readonly carriers: EvidenceCarriers
}

/** The faults of a credential, in the words of identity v0.2. */
export const publishedEvidenceCodes = [
  'wrong-domain',
  'challenge-mismatch',
  'expired',
  'not-yet-valid',
  'ttl-exceeded',
  'malformed-context',
  'malformed-type',
  'invalid-signature',
  'issuer-controller-mismatch',
] as const

/** Faults that the published list has no word for. */
export const ownEvidenceCodes = [
  'malformed',
  'too-many',
  'too-large',
  'unsupported-proof',
  'untrusted-issuer',
  'untrusted-method',
  'untrusted-assurance',
  'untrusted-subject',
  'untrusted-delegation',
  'key-unavailable',
  'replayed',
] as const

export type EvidenceCode = (typeof publishedEvidenceCodes)[number] | (typeof ownEvidenceCodes)[number]

/** Evidence that does not count, and why. Nothing of it is secret. */
export interface LeftOutEvidence {
  readonly kind: 'identity-evidence' | 'verifiable-credential'
  readonly code: EvidenceCode
  readonly reason: string
  readonly issuer?: string | undefined
}

export interface EvidenceVerdict {
  /** Signed by the named issuer, meant for this message, and admitted by the operator's policy. */
  readonly accepted: readonly IdentityEvidence[]
  readonly left_out: readonly LeftOutEvidence[]
  /** One row for each, for the operator. */
  readonly proofs: readonly Proof[]
}

/** Reads what others say about a sender. Bad evidence never refuses a message: it is left out. */
export interface IdentityVerifier {
  /** The supported kinds, for agent cards. */
  readonly extensions: readonly { readonly uri: string; readonly description: string }[]
  /** Uses up what it accepts: with another message, or of another sender, the same evidence does not count again. */
  verify(claim: EvidenceClaim): Promise<EvidenceVerdict>
  /** Whether the operator has named the caller as a connector: its statements about its platform are believed. */
  isConnector(caller: EvidenceCaller): boolean
}
