// Declares the verification of identity evidence that a message carries.
import type { IdentityEvidence, Proof } from '@postern/message'

/** The party that delivers a message, as its transport has proven it. */
export interface EvidenceCaller {
  /** The issuer of its token or key; empty if it has proven nothing. */
  readonly issuer: string
  readonly subject: string
}

/** The unchecked statements of a message about the person for whom it speaks. */
interface EvidenceCarriers {
  /** Envelopes of identity v0.1. */
  readonly identity_evidence?: unknown
  /** Credentials of identity v0.2. */
  readonly verifiable_credentials?: unknown
}

export interface EvidenceClaim {
  /** The addressed agent, `@agent@domain`. Evidence for another agent does not count. */
  readonly audience: string
  /** The sender's own id of the message. */
  readonly messageId: string
  /**
   * The sender to whom the message id belongs, so that a repeated message may carry the same evidence again. Undefined for a sender without
   * proof.
   */
  readonly sender?: string | undefined
  readonly carriers: EvidenceCarriers
}

/** The codes by which identity v0.2 names the errors of a credential. */
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

/** The codes of errors that the published list lacks. */
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

/** Evidence that does not count, with the reason. It contains no secret. */
export interface RejectedEvidence {
  readonly kind: 'identity-evidence' | 'verifiable-credential'
  readonly code: EvidenceCode
  readonly reason: string
  readonly issuer?: string | undefined
}

export interface EvidenceResult {
  /** The evidence that is signed by the named issuer, meant for this message and allowed by the operator's policy. */
  readonly accepted: readonly IdentityEvidence[]
  readonly left_out: readonly RejectedEvidence[]
  /** One proof for each piece of evidence, for the operator. */
  readonly proofs: readonly Proof[]
}

/** Verifies the statements of others about a sender. Bad evidence is left out and never causes the refusal of a message. */
export interface IdentityVerifier {
  /** The supported kinds, for agent cards. */
  readonly extensions: readonly { readonly uri: string; readonly description: string }[]
  /** Verifies evidence and uses up what it accepts: the same evidence does not count again with another message or from another sender. */
  verify(claim: EvidenceClaim): Promise<EvidenceResult>
  /** Returns true if the operator has named the caller as a connector, whose statements about its platform are trusted. */
  isConnector(caller: EvidenceCaller): boolean
}
