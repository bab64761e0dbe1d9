import type { IdentityEvidence } from '../../message/address/identity.ts'
import type { Proof } from '../../message/proof.ts'

/** Who brings a message, as its transport has proven him. */
export interface EvidenceCaller {
  /** Of the token or key he came with; empty when he proved nothing. */
  readonly issuer: string
  readonly subject: string
}

/** What a message carries to say for whom it speaks, as it came: nothing of it is checked. */
interface EvidenceCarriers {
  /** v0.1 envelopes. */
  readonly identity_evidence?: unknown
  /** v0.2 credentials. */
  readonly verifiable_credentials?: unknown
}

export interface EvidenceClaim {
  /** The agent that is spoken to, `@agent@domain`: evidence for another one counts for nothing here. */
  readonly audience: string
  /** By the sender's own id. */
  readonly messageId: string
  /** Whose id that is: his message again may bring the same evidence again. Undefined for somebody who proves nothing. */
  readonly sender?: string | undefined
  readonly carriers: EvidenceCarriers
}

/** What identity v0.2 calls the faults of a credential; its own words. */
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
  /** Signed by who he says he is, meant for this message, and admitted by the operator's policy. */
  readonly accepted: readonly IdentityEvidence[]
  readonly left_out: readonly LeftOutEvidence[]
  /** One row for each, for the operator. */
  readonly proofs: readonly Proof[]
}

/** Reads what others say about a sender. Bad evidence never refuses a message: it is left out. */
export interface IdentityVerifier {
  /** What is really understood: for agent cards. */
  readonly extensions: readonly { readonly uri: string; readonly description: string }[]
  /** Uses up what it accepts: with another message, or of another sender, the same evidence does not count again. */
  verify(claim: EvidenceClaim): Promise<EvidenceVerdict>
  /** Whether the operator has named the caller as a connector: what it says about the platform it speaks for is believed. */
  isConnector(caller: EvidenceCaller): boolean
}
