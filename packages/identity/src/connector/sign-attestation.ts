// Signs an identity attestation of v0.1 for one audience and a limited time.
import type { KeyObject } from 'node:crypto'
import { sign } from 'node:crypto'
import type { IdentityEvidence } from '@postern/message'
import { isoTime } from '@postern/message'
import { evidenceLifetimes } from '../format/members.ts'
import { formatSigningInput, toSigningKey } from './attestation.ts'
import { algorithmOf, attestationAlgorithms } from './connector-card.ts'

export interface AttestationDraft {
  /** The bare host of the connector. */
  readonly issuer: string
  readonly subject: string
  readonly method: string
  readonly assurance: string
  /** The addressed agent, `@agent@domain`. */
  readonly audience: string | readonly string[]
  /** The A2A `messageId` of the message. With it, the attestation counts only for that message, and otherwise for any message. */
  readonly messageId?: string | undefined
  /** The time of issue, ms. */
  readonly issuedAt: number
  /** The lifetime, ms. The default is 5 minutes, and the maximum 10. */
  readonly lifetimeMs?: number | undefined
  /** A unique value for this attestation, which is needed only if two attestations could otherwise be identical. */
  readonly id?: string | undefined
  readonly onBehalfOf?: readonly string[] | undefined
  readonly claims?: Readonly<Record<string, unknown>> | undefined
  readonly source?: Readonly<Record<string, unknown>> | undefined
}

interface AttestationSigner {
  /** A private key for Ed25519 or P-256. */
  readonly privateKey: KeyObject
  /** The name of the key in the Connector Card. */
  readonly kid: string
}

/** Signs a v0.1 envelope for `metadata.mentionable.identity_evidence`. This function is pure, except with P-256 keys. */
export function signAttestation(draft: AttestationDraft, { privateKey, kid }: AttestationSigner): IdentityEvidence {
  const { id, subject, issuer, method, assurance, audience, messageId, issuedAt, onBehalfOf, claims } = draft
  const alg = algorithmOf(privateKey)
  const source = { ...draft.source, ...(messageId !== undefined && { message: messageId }) }
  const members = {
    ...(id !== undefined && { id }),
    subject,
    issuer,
    method,
    assurance,
    audience: typeof audience === 'string' ? audience : [...audience],
    issued_at: isoTime(issuedAt),
    expires_at: isoTime(issuedAt + (draft.lifetimeMs ?? evidenceLifetimes.defaultMs)),
    ...(onBehalfOf && { on_behalf_of: [...onBehalfOf] }),
    ...(claims && { claims }),
    ...(Object.keys(source).length > 0 && { source }),
  }
  const proof = { type: 'signed-attestation', alg, kid, canonicalization: 'jcs' } as const
  const input = formatSigningInput({ ...members, proof })
  const value = sign(attestationAlgorithms[alg].hash, input, toSigningKey(privateKey)).toString('base64url')
  return { ...members, proof: { ...proof, value } }
}
