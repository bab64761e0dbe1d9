import type { KeyObject } from 'node:crypto'
import { sign } from 'node:crypto'
import type { IdentityEvidence } from '@postern/core'
import { isoTime } from '@postern/core'
import { lifetime } from '../format/members.ts'
import { attestationInput, signingKey } from './attestation.ts'
import { algorithmOf, attestationAlgorithms } from './card.ts'

export interface AttestationDraft {
  /** Bare host of the connector. */
  readonly issuer: string
  readonly subject: string
  readonly method: string
  readonly assurance: string
  /** The addressed agent, `@agent@domain`. */
  readonly audience: string | readonly string[]
  /** The A2A `messageId` of the message. The attestation then counts with no other one. */
  readonly messageId?: string | undefined
  /** ms */
  readonly issuedAt: number
  /** ms; default 5 minutes, at most 10. */
  readonly lifetimeMs?: number | undefined
  /** Unique to this attestation, if two could otherwise be identical. */
  readonly id?: string | undefined
  readonly onBehalfOf?: readonly string[] | undefined
  readonly claims?: Readonly<Record<string, unknown>> | undefined
  readonly source?: Readonly<Record<string, unknown>> | undefined
}

interface AttestationSigner {
  /** Ed25519 or P-256. */
  readonly privateKey: KeyObject
  /** Its name in the Connector Card. */
  readonly kid: string
}

/** A v0.1 envelope with its signature, for `metadata.mentionable.identity_evidence`. Pure, but for P-256 keys. */
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
    expires_at: isoTime(issuedAt + (draft.lifetimeMs ?? lifetime.usual)),
    ...(onBehalfOf && { on_behalf_of: [...onBehalfOf] }),
    ...(claims && { claims }),
    ...(Object.keys(source).length > 0 && { source }),
  }
  const proof = { type: 'signed-attestation', alg, kid, canonicalization: 'jcs' } as const
  const input = attestationInput({ ...members, proof })
  const value = sign(attestationAlgorithms[alg].hash, input, signingKey(privateKey)).toString('base64url')
  return { ...members, proof: { ...proof, value } }
}
