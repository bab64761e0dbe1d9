import { z } from 'zod'

/** How one piece of identity evidence is proven (identity v0.1). */
const identityProofSchema = z.discriminatedUnion('type', [
  z.object({
    /** `transport`: the channel verified it; `signed-attestation`: an issuer signed it; `bearer-token`: a token said it. */
    type: z.literal('transport'),
    /** What verified it: the method of the channel, or of the token. */
    verified_by: z.string(),
    /** Id of the key that proved it. */
    key_id: z.string().optional(),
  }),
  z.object({
    type: z.literal('signed-attestation'),
    /** Algorithm of the signature. */
    alg: z.string(),
    /** Id of the key. */
    kid: z.string(),
    /** The signature; left out once it is verified. */
    value: z.string().optional(),
    /** The canonical form of the signed bytes. */
    canonicalization: z.string().optional(),
  }),
  z.looseObject({ type: z.literal('bearer-token'), verified_by: z.string() }),
])

/** A statement of a trusted party about the sender. Authorization reads this, never a profile. */
export const identityEvidenceSchema = z.object({
  /** Id of the evidence. */
  id: z.string().optional(),
  /** Who the sender is: an actor, `mailto:…`, the subject of a token, or the issuer's own name for them. */
  subject: z.string(),
  /** The party that states it. */
  issuer: z.string(),
  /** How it was proven, a URN. */
  method: z.string(),
  /** The strength of the proof: `address`, `domain`, `oauth`, or a level of the issuer. */
  assurance: z.string(),
  /** The agent, or the agents, that it is for. */
  audience: z.union([z.string(), z.array(z.string())]),
  /** Time of issue, ISO 8601. */
  issued_at: z.string(),
  /** When it begins to count, ISO 8601. */
  not_before: z.string().optional(),
  /** When it stops counting, ISO 8601. */
  expires_at: z.string().optional(),
  /** Subjects that the sender acts for; it never widens a right. */
  on_behalf_of: z.array(z.string()).optional(),
  /** Further statements of the issuer. */
  claims: z.record(z.string(), z.unknown()).optional(),
  /** Where the issuer has it from. */
  source: z.record(z.string(), z.unknown()).optional(),
  /** How it is proven. */
  proof: identityProofSchema,
})

export type IdentityEvidence = z.infer<typeof identityEvidenceSchema>
