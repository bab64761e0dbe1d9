import { z } from 'zod'

/** How one piece of identity evidence is proven (identity v0.1). */
const identityProofSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('transport'), verified_by: z.string(), key_id: z.string().optional() }),
  z.object({
    type: z.literal('signed-attestation'),
    alg: z.string(),
    kid: z.string(),
    /** Left out once it is verified: a signature is nobody's business behind the door. */
    value: z.string().optional(),
    canonicalization: z.string().optional(),
  }),
  z.looseObject({ type: z.literal('bearer-token'), verified_by: z.string() }),
])

/** What somebody trustworthy says about who is speaking. Authorization reads this, never a profile. */
export const identityEvidenceSchema = z.object({
  id: z.string().optional(),
  subject: z.string(),
  issuer: z.string(),
  method: z.string(),
  assurance: z.string(),
  audience: z.union([z.string(), z.array(z.string())]),
  issued_at: z.string(),
  not_before: z.string().optional(),
  expires_at: z.string().optional(),
  on_behalf_of: z.array(z.string()).optional(),
  claims: z.record(z.string(), z.unknown()).optional(),
  source: z.record(z.string(), z.unknown()).optional(),
  proof: identityProofSchema,
})

export type IdentityEvidence = z.infer<typeof identityEvidenceSchema>

/** The URN of a channel's own method, such as `email-dkim` (Mentionable, ns/identity/v0.1). */
export function formatTransportMethod(method: string): string {
  return `urn:mentionable:auth:${method}:v0.1`
}

interface TransportEvidence {
  readonly method: string
  readonly subject: string
  readonly issuer: string
  readonly assurance: 'address' | 'oauth' | 'domain'
  /** The agent the message was addressed to, `@agent@domain`. */
  readonly audience: string
  /** ISO 8601 UTC. */
  readonly issuedAt: string
  readonly keyId?: string | undefined
}

/** The envelope a door mints for what it verified itself. */
export function mintTransportEvidence(evidence: TransportEvidence): IdentityEvidence {
  const { method, subject, issuer, assurance, audience, issuedAt, keyId } = evidence
  return {
    subject,
    issuer,
    method: formatTransportMethod(method),
    assurance,
    audience,
    issued_at: issuedAt,
    proof: { type: 'transport', verified_by: method, ...(keyId && { key_id: keyId }) },
  }
}
